// Writes docs/reference/settings.md: every setting of every service, from the configuration schemas. With --print it
// prints the page instead, for the test that compares it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadServiceSettings } from './service-settings.mjs';
import { root } from './steps.mjs';

const file = join(root, 'docs', 'reference', 'settings.md');

const intro = `# Settings

Every setting of every service, by name. Services read them from the environment. A setting with an empty value has its default. All
faults are reported together at the start. \`scripts/settings-table.mjs\` writes this page from the configuration schemas
(\`npm run generate\`).

| Setting | Services | Default | Meaning |
|---|---|---|---|
`;

/** Formats the default of a setting. Development secrets are not worth copying. */
function formatDefault({ default: value, optional, secret }) {
  if (value === undefined) return optional === true ? '-' : 'required';
  if (secret === true) return 'for development';
  return value === '' ? 'empty' : `\`${String(value).replaceAll('|', '\\|')}\``;
}

const escape = (text) => text.replaceAll('|', '\\|');

/** Returns the rows: settings of several services with the same default and meaning are one row. */
async function createRows() {
  const rows = new Map();
  for (const [service, { schema }] of Object.entries(await loadServiceSettings()))
    for (const [name, setting] of Object.entries(schema)) {
      const cells = [formatDefault(setting), escape(setting.description)].join(' | ');
      const key = `${name}\n${cells}`;
      rows.set(key, { name, cells, services: [...(rows.get(key)?.services ?? []), service] });
    }
  return [...rows.values()].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

const everyService = Object.keys(await loadServiceSettings()).length;
const formatServices = (services) => (services.length === everyService ? 'all' : services.join(', '));
const lines = (await createRows()).map(
  ({ name, cells, services }) => `| \`${name}\` | ${formatServices(services)} | ${cells} |`,
);
const page = `${intro}${lines.join('\n')}\n`;
if (process.argv.includes('--print')) process.stdout.write(page);
else writeFileSync(file, page);
