// npm test: sets everything up, then lint, types, unit and end-to-end tests; a stage that fails hides no later one.
// npm test -- --only lint|unit|e2e runs one of them. Prints where the time went; the last line is always "N passed, N failed".
import './node-version.mjs';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { createTemporaryFolder, formatSlowFiles, runJest } = await import('./jest-stage.mjs');
const { build, install } = await import('./prepare.mjs');
const { root, runStep, wasInterrupted } = await import('./steps.mjs');

const stages = ['lint', 'unit', 'e2e'];
/** Two cores: the backends and the system under test need one of them. */
const unitWorkers = 2;
/** End-to-end tests wait more than they compute. */
const endToEndWorkers = 3;

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

function addResult(title, seconds, counts) {
  results.push({ title, seconds, passed: 0, failed: 0, skipped: 0, ...counts });
}

async function check(title, command, args) {
  const { ok, seconds } = await runStep(title, command, args);
  addResult(title, seconds, ok ? { passed: 1 } : { failed: 1 });
}

const local = (name) => join(root, 'node_modules', '.bin', name);

/** Runs the tests of a project that the patterns name. */
async function jest(title, { project, workers, env }) {
  // With a pattern, one of the two stages may well have no such file.
  const args = [`--maxWorkers=${workers}`, ...(patterns.length > 0 ? ['--passWithNoTests', ...patterns] : [])];
  const { seconds, counts, files } = await runJest(title, { project, args, env });
  addResult(title, seconds, counts);
  if (files.length > 1) slowFiles.push(formatSlowFiles(title, files));
}

const progress = async () => {
  const { createProgress } = await import('../deploy/local/dist/progress.js');
  return createProgress((text) => process.stdout.write(text));
};

/** Runs a preparation of a stage and returns its value; a failure is a failed row of the summary and `undefined`. */
async function prepareFor(title, what, work) {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  try {
    const value = await work();
    addResult(`${title}: ${what}`, seconds(), {});
    return value;
  } catch (error) {
    console.error([error.message, error.details].filter(Boolean).join('\n'));
    addResult(`${title}: ${what}`, seconds(), { failed: 1 });
    return undefined;
  }
}

async function unitTests() {
  const title = 'Unit tests';
  const folder = createTemporaryFolder();
  try {
    const backends = await prepareFor(title, 'backends', async () => {
      const { startTestBackends } = await import('../deploy/local/dist/test-backends.js');
      return startTestBackends(await progress(), { parentFolder: folder });
    });
    if (backends === undefined) return;
    await jest(title, { project: 'unit', workers: unitWorkers, env: { ...backends.env, TMPDIR: folder } });
    await backends.stop();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prepares what the end-to-end tests need beside the product: a browser, and the fuzzer that reads the OpenAPI documents. */
async function endToEndTests() {
  const title = 'End-to-end tests';
  const browser = await prepareFor(title, 'browser', async () => {
    const { prepareChromium } = await import('../deploy/local/dist/test-browser.js');
    return { CHROMIUM_PATH: await prepareChromium(await progress()) };
  });
  const fuzzer = await prepareFor(title, 'fuzzer', async () => {
    const { prepareFuzzer } = await import('../deploy/local/dist/test-fuzzer.js');
    const { python, home } = await prepareFuzzer(await progress());
    return { SCHEMATHESIS_PYTHON: python, SCHEMATHESIS_HOME: home };
  });
  const { SharedProduct } = await import('./shared-product.mjs');
  const folder = createTemporaryFolder();
  const product = await SharedProduct.offer(folder);
  try {
    const env = { ...browser, ...fuzzer, TMPDIR: folder, SHARED_PRODUCT_URL: product.url };
    await jest(title, { project: 'e2e', workers: endToEndWorkers, env });
  } finally {
    await product.stop();
    rmSync(folder, { recursive: true, force: true });
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
  const total = { passed: sum('passed'), failed: sum('failed'), skipped: sum('skipped') };
  console.log(line(total));
  return total.failed === 0;
}

if (!(await install())) {
  addResult('Packages', 0, { failed: 1 });
} else {
  // Always: the unit tests' backends and the product of the end-to-end tests are what this builds.
  const built = await build();
  addResult('Types: sources', built.seconds, built.ok ? { passed: 1 } : { failed: 1 });
  if (isWanted('lint')) {
    await check('Types: tests', process.execPath, [
      join(root, 'node_modules', 'typescript', 'bin', 'tsc'),
      '-p',
      'tsconfig.tests.json',
    ]);
    await check('Lint (oxlint)', local('oxlint'), ['--type-aware', '--deny-warnings']);
    await check('Format (biome)', local('biome'), ['check', '.']);
  }
  if (isWanted('unit')) await unitTests();
  if (isWanted('e2e')) await endToEndTests();
}
if (wasInterrupted()) process.exit(130);
const allPassed = printSummary();
process.exit(allPassed ? 0 : 1);
