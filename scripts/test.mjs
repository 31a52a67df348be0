// npm test: sets everything up, then lint, types, unit and end-to-end tests; a stage that fails hides no later one.
// npm test -- --only lint|unit|e2e runs one of them. The last line is always "N passed, N failed".
import './node-version.mjs';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { build, install } = await import('./prepare.mjs');
const { root, runStep, wasInterrupted } = await import('./steps.mjs');

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

function addResult(title, seconds, counts) {
  results.push({ title, seconds, passed: 0, failed: 0, skipped: 0, ...counts });
}

async function check(title, command, args) {
  const { ok, seconds } = await runStep(title, command, args);
  addResult(title, seconds, ok ? { passed: 1 } : { failed: 1 });
}

const local = (name) => join(root, 'node_modules', '.bin', name);

/** What jest counted. A file that could not even be loaded has no tests to count: it is one failure. */
function readCounts(file, ok) {
  let report;
  try {
    report = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { failed: 1 }; // jest itself did not come to its end
  }
  const unloadable = report.testResults.filter(({ status, assertionResults }) => {
    return status === 'failed' && assertionResults.every((test) => test.status !== 'failed');
  }).length;
  const failed = report.numFailedTests + unloadable;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && !ok ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

async function jest(title, project, env, ...args) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-test-'));
  const report = join(folder, 'report.json');
  const program = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  const options = [
    '--selectProjects',
    project,
    '--json',
    `--outputFile=${report}`,
    // With a pattern, one of the two stages may well have no such file.
    ...(patterns.length > 0 ? ['--passWithNoTests'] : []),
    ...args,
    ...patterns,
  ];
  const quietNpm = { ...process.env, ...env, NODE_ENV: 'test' };
  const { ok, seconds } = await runStep(title, process.execPath, [...flags, program, ...options], { env: quietNpm });
  addResult(title, seconds, readCounts(report, ok));
  rmSync(folder, { recursive: true, force: true });
}

async function unitTests() {
  const title = 'Unit tests';
  let backends;
  try {
    const [{ startTestBackends }, { createProgress }] = await Promise.all([
      import('../deploy/local/dist/test-backends.js'),
      import('../deploy/local/dist/progress.js'),
    ]);
    backends = await startTestBackends(createProgress((text) => process.stdout.write(text)));
  } catch (error) {
    console.error([error.message, error.details].filter(Boolean).join('\n'));
    addResult(`${title}: backends`, 0, { failed: 1 });
    return;
  }
  await jest(title, 'unit', backends.env);
  await backends.stop();
}

/** What the end-to-end tests need beside the product: a browser, and the fuzzer that reads the OpenAPI documents. */
async function endToEndTests() {
  const title = 'End-to-end tests';
  const env = {};
  const { createProgress } = await import('../deploy/local/dist/progress.js');
  const progress = createProgress((text) => process.stdout.write(text));
  const prepare = async (what, work) => {
    try {
      Object.assign(env, await work());
    } catch (error) {
      console.error([error.message, error.details].filter(Boolean).join('\n'));
      addResult(`${title}: ${what}`, 0, { failed: 1 });
    }
  };
  await prepare('browser', async () => {
    const { prepareChromium } = await import('../deploy/local/dist/test-browser.js');
    return { CHROMIUM_PATH: await prepareChromium(progress) };
  });
  await prepare('contract fuzzer', async () => {
    const { prepareFuzzer } = await import('../deploy/local/dist/test-fuzzer.js');
    const { python, home } = await prepareFuzzer(progress);
    return { SCHEMATHESIS_PYTHON: python, SCHEMATHESIS_HOME: home };
  });
  await jest(title, 'e2e', env, '--runInBand');
}

function printSummary() {
  const sum = (key) => results.reduce((total, result) => total + result[key], 0);
  const line = ({ passed, failed, skipped }) =>
    `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
  console.log('');
  for (const result of results) {
    console.log(`${result.title.padEnd(28)} ${`${result.seconds.toFixed(1)} s`.padStart(9)}   ${line(result)}`);
  }
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
