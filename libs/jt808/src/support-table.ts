import { type AdditionalItemDefinition, additionalItemDefinitions } from './additional-items.ts';
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
    (definition.answeredBy ?? []).map((id) => hexId(id, 4)).join(', '),
    formatFieldNames(definition.body),
  ];
}

function formatMessageTable(from: MessageDefinition['from']): string {
  const header = ['Id', 'Name', 'Editions', 'Defined in', 'Answered by', 'Fields (? = not in every body)'];
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

Made from the definitions in \`libs/jt808\` by \`node libs/jt808/dist/write-support-table.js\`; a test compares. Messages, items and
parameters that are not listed are kept as bytes and sent on unchanged.

The layouts are held to captured and published frames. Of the numbers under "Defined in", only a few could be compared with the printed standards:
check one there before you rely on it.

## From the terminal

${formatMessageTable('terminal')}

## To the terminal

${formatMessageTable('platform')}

## Additional information of a location (0x0200)

An item whose length is another than the listed ones is a vendor's and is kept as bytes.

${additionalItemTable()}

## Battery and supply voltage

The standard has no item for either. These vendor items are read where they have exactly this form; any other form stays unknown.

${formatPowerTable()}

## Parameters (0x8103, 0x0104)

${formatParameterTable()}
`;
}
