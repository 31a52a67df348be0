import type { AdditionalItemDefinition } from './additional-item-definition.ts';
import { additionalItemDefinitions } from './additional-items.ts';
import { editions } from './edition.ts';
import { type Fields, hexId, snakeCase } from './fields/index.ts';
import type { MessageDefinition } from './message.ts';
import { parameterDefinitions } from './parameters.ts';
import { powerItemRows } from './power-items.ts';
import { allMessages } from './registry.ts';

function formatFieldNames(fields: Fields): string {
  const names = Object.entries(fields)
    .filter(([, field]) => field.type !== '')
    .map(([name, field]) => `\`${snakeCase(name)}\`${'optional' in field ? '?' : ''}`);
  return names.length === 0 ? '(empty)' : names.join(', ');
}

/** Formats a Markdown table with aligned columns, as the repository's formatter requires. */
function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    Math.max(...[header, ...rows].map((row) => row[column]?.length ?? 0), title.length),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const separator = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(header), separator, ...rows.map(line)].join('\n');
}

function formatMessageRow(definition: MessageDefinition): string[] {
  return [
    hexId(definition.id, 4),
    `\`${definition.name}\``,
    (definition.editions ?? editions).map((edition) => edition.slice(2)).join(' '),
    definition.reference,
    (definition.responseIds ?? []).map((id) => hexId(id, 4)).join(', '),
    formatFieldNames(definition.body),
  ];
}

function formatMessageTable(from: MessageDefinition['from']): string {
  const header = ['Id', 'Name', 'Editions', 'Defined in', 'Response', 'Fields (? = not in every body)'];
  return formatTable(header, allMessages.filter((definition) => definition.from === from).map(formatMessageRow));
}

function formatLengths({ lengths }: AdditionalItemDefinition): string {
  return typeof lengths === 'function' ? 'variable' : lengths.join(', ');
}

function additionalItemTable(): string {
  const rows = Object.values<AdditionalItemDefinition>(additionalItemDefinitions).map((item) => [
    hexId(item.id, 2),
    `\`${item.name}\``,
    formatLengths(item),
    item.reference,
    formatFieldNames(item.fields),
  ]);
  return formatTable(['Id', 'Name', 'Length', 'Defined in', 'Fields'], rows);
}

function formatPowerTable(): string {
  return formatTable(['Id', 'Length', 'Value'], powerItemRows);
}

function formatParameterTable(): string {
  const rows = [...parameterDefinitions.values()].map(({ id, name, type }) => [hexId(id, 4), `\`${name}\``, type]);
  return formatTable(['Id', 'Name', 'Type'], rows);
}

/** Returns the text of docs/protocol-support.md: all defined messages, items and parameters. */
export function formatSupportTable(): string {
  return `# Protocol support

Every JT/T 808, JT/T 1078 and T/JSATL 12 message, item and parameter that the codec decodes and encodes. Others are passed on unchanged as
bytes. \`npm run generate\` generates this page from the definitions in \`libs/jt808\`; a test compares it.

The layouts were verified with captured and published frames. Only a few of the references under "Defined in" could be compared with the
printed standards: check a reference there before you rely on it.

## From the terminal

${formatMessageTable('terminal')}

## To the terminal

${formatMessageTable('platform')}

## Additional information of a location (0x0200)

An item with a length that is not listed belongs to a vendor and is passed on as bytes.

${additionalItemTable()}

## Battery and supply voltage

The standard defines no item for either. These vendor items are decoded only in exactly this form; any other form is treated as unknown.

${formatPowerTable()}

## Parameters (0x8103, 0x0104)

${formatParameterTable()}
`;
}
