import { EDITIONS } from './edition.ts';
import { type ExtraDefinition, extraDefinitions } from './extras.ts';
import { type Fields, hexId, snakeCase } from './fields/index.ts';
import type { MessageDefinition } from './message.ts';
import { parameterDefinitions } from './parameters.ts';
import { powerItems } from './power-items.ts';
import { allMessages } from './registry.ts';

function fieldNames(fields: Fields): string {
  const names = Object.entries(fields)
    .filter(([, field]) => field.type !== '')
    .map(([name, field]) => `\`${snakeCase(name)}\`${'optional' in field ? '?' : ''}`);
  return names.length === 0 ? '(empty)' : names.join(', ');
}

/** Markdown table with aligned columns, as the repository's formatter wants it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0), title.length),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(head), rule, ...rows.map(line)].join('\n');
}

function messageRow(definition: MessageDefinition): string[] {
  return [
    hexId(definition.id, 4),
    `\`${definition.name}\``,
    (definition.editions ?? EDITIONS).map((edition) => edition.slice(2)).join(' '),
    definition.reference,
    (definition.answeredBy ?? []).map((id) => hexId(id, 4)).join(', '),
    fieldNames(definition.body),
  ];
}

function messageTable(from: MessageDefinition['from']): string {
  const head = ['Id', 'Name', 'Editions', 'Defined in', 'Answered by', 'Fields (? = not in every body)'];
  return table(head, allMessages.filter((definition) => definition.from === from).map(messageRow));
}

function lengthsOf({ lengths }: ExtraDefinition): string {
  return typeof lengths === 'function' ? 'variable' : lengths.join(', ');
}

function extraTable(): string {
  const rows = Object.values<ExtraDefinition>(extraDefinitions).map((extra) => [
    hexId(extra.id, 2),
    `\`${extra.name}\``,
    lengthsOf(extra),
    extra.reference,
    fieldNames(extra.fields),
  ]);
  return table(['Id', 'Name', 'Length', 'Defined in', 'Fields'], rows);
}

function powerTable(): string {
  return table(['Id', 'Length', 'Value'], powerItems);
}

function parameterTable(): string {
  const rows = [...parameterDefinitions.values()].map(({ id, name, type }) => [hexId(id, 4), `\`${name}\``, type]);
  return table(['Id', 'Name', 'Type'], rows);
}

/** Text of docs/protocol-support.md: every message, item and parameter that the definitions know. */
export function supportTable(): string {
  return `# Protocol support

Made from the definitions in \`libs/jt808\` by \`node libs/jt808/dist/write-support-table.js\`; a test compares. Messages, items and
parameters that are not listed are kept as bytes and sent on unchanged.

The layouts are held to captured and published frames. Of the numbers under "Defined in", only a few could be compared with the printed standards:
check one there before you rely on it.

## From the terminal

${messageTable('terminal')}

## To the terminal

${messageTable('platform')}

## Additional information of a location (0x0200)

An item whose length is another than the listed ones is a vendor's and is kept as bytes.

${extraTable()}

## Battery and supply voltage

The standard has no item for either. These vendor items are read where they have exactly this form; any other form stays unknown.

${powerTable()}

## Parameters (0x8103, 0x0104)

${parameterTable()}
`;
}
