// npm run test:campaigns: runs the tests with configurable sizes (kills, fuzz examples, property runs) with their long
// sizes, and prints a table of what ran. Accepts a path pattern. The last line is "N passed, N failed".
import './node-version.mjs';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const { prepare } = await import('./prepare.mjs');
const { root, wasInterrupted } = await import('./steps.mjs');
const { runEndToEndTests, runUnitTests } = await import('./test-stages.mjs');

const patterns = process.argv.slice(2).map((pattern) => new RegExp(pattern));
/** Matches a use of the configurable sizes of `campaign-size.ts`. */
const sized = /\b(?:campaignSize|propertyRuns|propertySettings)\b/;

/** Returns the test files of a folder that have configurable sizes. */
function campaignsIn(folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'))
    .map((name) => join(folder, name))
    .filter((file) => patterns.length === 0 || patterns.some((pattern) => pattern.test(file)))
    .filter((file) => sized.test(readFileSync(join(root, file), 'utf8')));
}

/** Returns one row for each size of a file, the largest if it used several values. */
function readSizes(report) {
  const rows = new Map();
  const lines = existsSync(report) ? readFileSync(report, 'utf8').split('\n').filter(Boolean) : [];
  for (const line of lines) {
    const { file, what, normal, size } = JSON.parse(line);
    const key = `${file} ${what}`;
    const former = rows.get(key);
    if (former === undefined || former.size < size) rows.set(key, { file: relative(root, file), what, normal, size });
  }
  return [...rows.values()];
}

function printTable(sizes, stages) {
  const files = stages.flatMap((stage) => stage.files);
  const rows = files.flatMap(({ file, seconds, passed, failed }) => {
    const outcome = failed === 0 ? `${passed} passed` : `${passed} passed, ${failed} FAILED`;
    return sizes
      .filter((size) => size.file === file)
      .map(({ what, normal, size }) => [file, what, String(normal), String(size), `${seconds.toFixed(0)} s`, outcome]);
  });
  const table = [['file', 'what', 'npm test', 'here', 'duration', 'outcome'], ...rows];
  const widths = table[0].map((_title, column) => Math.max(...table.map((row) => row[column].length)));
  console.log('');
  for (const row of table)
    console.log(
      row
        .map((cell, column) => cell.padEnd(widths[column]))
        .join('   ')
        .trimEnd(),
    );
}

await prepare();
const folder = mkdtempSync(join(tmpdir(), 'fleet-campaigns-'));
const report = join(folder, 'sizes');
const options = { env: { CAMPAIGN_REPORT: report }, args: ['--testTimeout=3600000'] };
const stages = [];
const unit = ['libs', 'services', 'deploy'].flatMap(campaignsIn);
const endToEnd = campaignsIn('test-e2e');
// One after another: a campaign loads the machine as much as it can.
if (unit.length > 0) stages.push(...(await runUnitTests({ ...options, patterns: unit, alone: true })));
if (endToEnd.length > 0 && !wasInterrupted())
  stages.push(...(await runEndToEndTests({ ...options, patterns: endToEnd, workers: 1 })));
const sizes = readSizes(report);
rmSync(folder, { recursive: true, force: true });
if (wasInterrupted()) process.exit(130);
printTable(sizes, stages);
const sum = (key) => stages.reduce((total, { counts }) => total + (counts[key] ?? 0), 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exit(sum('failed') === 0 ? 0 : 1);
