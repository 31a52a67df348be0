// npm test: prepares everything, then runs lint, types, unit and end-to-end tests; a failed stage does not prevent
// later ones. npm test -- --only lint|unit|e2e runs one of them. Prints the duration of each stage; the last line is
// always "N passed, N failed".
import './node-version.mjs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { formatSlowFiles } = await import('./jest-stage.mjs');
const { build, install } = await import('./prepare.mjs');
const { root, runStep, wasInterrupted } = await import('./steps.mjs');
const { runEndToEndTests, runUnitTests } = await import('./test-stages.mjs');

const stages = ['lint', 'unit', 'e2e'];

function readFilter() {
  try {
    const { values, positionals } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true });
    if (values.only === undefined || stages.includes(values.only)) return { only: values.only, patterns: positionals };
  } catch (error) {
    if (error.code?.startsWith('ERR_PARSE_ARGS') !== true) throw error;
  }
  console.error(`Usage: npm test -- [--only ${stages.join('|')}] [path pattern of test files]...`);
  process.exit(1);
}

const { only, patterns } = readFilter();
const isWanted = (stage) => !wasInterrupted() && (only === undefined || only === stage);
/** One row for each stage: { title, passed, failed, skipped, seconds }. */
const results = [];
/** The slowest files of each stage, formatted. */
const slowFiles = [];
/** The title, the file and the messages of each failed test. */
const failedTests = [];

function addResult(title, seconds, counts) {
  results.push({ title, seconds, passed: 0, failed: 0, skipped: 0, ...counts });
}

async function check(title, command, args) {
  const { ok, seconds } = await runStep(title, command, args);
  addResult(title, seconds, ok ? { passed: 1 } : { failed: 1 });
}

const local = (name) => join(root, 'node_modules', '.bin', name);

/** Adds the rows of a stage. */
function addStage(rows) {
  for (const { title, seconds, counts, files, failures } of rows) {
    addResult(title, seconds, counts);
    failedTests.push(...failures);
    if (files.length > 1) slowFiles.push(formatSlowFiles(title, files));
  }
}

function printSummary() {
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const line = ({ passed, failed, skipped }) =>
    `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
  for (const files of slowFiles) console.log(`\n${files}`);
  console.log('');
  for (const result of results) {
    const isPreparation = result.passed + result.failed + result.skipped === 0;
    const seconds = `${result.seconds.toFixed(1)} s`.padStart(9);
    console.log(`${result.title.padEnd(28)} ${seconds}   ${isPreparation ? '' : line(result)}`.trimEnd());
  }
  console.log(`${'Total'.padEnd(28)} ${`${process.uptime().toFixed(1)} s`.padStart(9)}`);
  if (failedTests.length > 0) console.log(['Failed tests', ...failedTests.map((test) => `  ${test}`)].join('\n'));
  const total = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  console.log(line(total));
  return total.failed === 0;
}

if (!(await install())) {
  addResult('Packages', 0, { failed: 1 });
} else {
  // Always built: the unit tests' backends and the product of the end-to-end tests depend on it.
  const built = await build();
  addResult('Types: sources', built.seconds, built.ok ? { passed: 1 } : { failed: 1 });
  if (isWanted('lint')) {
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    await check('Types: tests', process.execPath, [tsc, '-p', 'tsconfig.tests.json']);
    await check('Types: scripts', process.execPath, [tsc, '-p', 'tsconfig.scripts.json']);
    await check('Lint (oxlint)', local('oxlint'), ['--type-aware', '--deny-warnings']);
    await check('Format (biome)', local('biome'), ['check', '.']);
    await check('Vocabulary', process.execPath, [join(root, 'scripts', 'check-vocabulary.mjs')]);
    await check('Exports', process.execPath, [join(root, 'scripts', 'check-exports.mjs')]);
  }
  if (isWanted('unit')) addStage(await runUnitTests({ patterns }));
  if (isWanted('e2e')) addStage(await runEndToEndTests({ patterns }));
}
if (wasInterrupted()) process.exit(130);
const allPassed = printSummary();
process.exit(allPassed ? 0 : 1);
