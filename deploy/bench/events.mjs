// `npm run bench -- events`: measures reports through the rules on one core, alarms through to their delivery, and
// webhook deliveries, each with a floor of the same run. Writes docs/benchmarks-events.md, unless an alarm takes a
// second or more at the median. Requires nothing beyond what `npm start` needs; the settings are those of the scripts.
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { machine } from './machine.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const target = join(root, 'docs', 'benchmarks-events.md');

function measured(script) {
  const run = spawnSync(process.execPath, [join(root, 'deploy', 'bench', script)], {
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
  });
  if (run.status === 0) return run.stdout.trim();
  console.error(`${run.stdout}\n${script} failed; docs/benchmarks-events.md is unchanged.`);
  process.exit(1);
}

const parts = [
  ['Rules on one core', measured('rules.mjs')],
  ['From an alarm to its receivers', measured('alarms.mjs')],
  ['Deliveries to webhooks', measured('webhooks.mjs')],
];
const tables = parts.map(([title, table]) => `## ${title}\n\n${table}\n`).join('\n');
const head = `# Benchmarks of events\n\nWritten by \`npm run bench -- events\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}. The terminals, the product with its
embedded backends, and the receivers share the cores: compare the ratios to the floors, not absolute numbers.\n`;
writeFileSync(target, `${head}\n${tables}`);
console.log(`${head}\n${tables}\nwritten: ${target}`);
