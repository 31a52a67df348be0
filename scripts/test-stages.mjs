// The two stages that run jest, with their preparations. Each returns rows of { title, seconds, counts, files, failures }.
// Preparations count no tests, unless they fail.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryFolder, runJest } from './jest-stage.mjs';
import { root } from './steps.mjs';
import { writeTestGroups } from './test-groups.mjs';

/** More than the two cores: many files wait for the servers that they test. */
const unitWorkers = 5;
/** Two products with their terminals and cameras use two cores. */
const endToEndWorkers = 2;
/** Browsers draw in software: more than two of them take the cores from the product that they test. */
const browserWorkers = 2;

/** Runs of the end-to-end tests: title, whether the files open a browser, and workers. */
const endToEndRuns = /** @type {const} */ ([
  ['End-to-end tests', false, endToEndWorkers],
  ['End-to-end tests: browsers', true, browserWorkers],
]);

/**
 * @typedef {object} StageOptions
 * @property {readonly string[]} [patterns] of paths; default: all test files
 * @property {NodeJS.ProcessEnv} [env] of the tests
 * @property {readonly string[]} [args] of jest
 * @property {number} [workers]
 * @property {boolean} [alone] runs each unit test file alone, not in a group; default: false
 */

async function createReporter() {
  const { createProgress } = await import('../deploy/local/dist/progress.js');
  return createProgress((text) => process.stdout.write(text));
}

/** Runs one preparation of a stage. Returns { row, value }; the value is undefined if it failed. */
async function prepare(title, work) {
  const startedAt = performance.now();
  const row = (counts) => ({
    title,
    seconds: (performance.now() - startedAt) / 1000,
    counts,
    files: [],
    failures: [],
  });
  try {
    const value = await work();
    return { row: row({}), value };
  } catch (error) {
    console.error([error.message, error.details].filter(Boolean).join('\n'));
    return { row: row({ failed: 1 }), value: undefined };
  }
}

/**
 * @param {{ patterns?: readonly string[], args?: readonly string[] }} options
 * @param {number} workers
 */
function jestArgs({ patterns = [], args = [] }, workers) {
  // With a pattern, one of the two stages may have no matching file.
  const some = patterns.length > 0 ? ['--passWithNoTests', ...patterns] : [];
  return [`--maxWorkers=${workers}`, ...args, ...some];
}

/** Returns the project and the arguments of the unit tests: groups of files, or single files. */
function unitTestFiles(options, workers) {
  if (options.alone) return { project: 'unit', args: jestArgs(options, workers) };
  const groups = writeTestGroups(options.patterns?.map((pattern) => new RegExp(pattern)));
  // Without a path, jest would run every file.
  const paths = groups.length > 0 ? ['--runTestsByPath', ...groups] : ['--testPathPatterns=^$'];
  return {
    project: 'unit-groups',
    args: [...jestArgs({ args: options.args }, workers), '--passWithNoTests', ...paths],
  };
}

/** Prepares the variable that names a MongoDB server, where one runs. */
const prepareReplicaSets = (stage) =>
  prepare(`${stage}: MongoDB`, async () => {
    const { prepareMongod } = await import('../deploy/local/dist/test-mongod.js');
    const program = await prepareMongod(await createReporter());
    return program === undefined ? {} : { MONGOD_BIN: program };
  });

/**
 * Runs the unit tests with separate backends.
 * @param {StageOptions} options
 */
export async function runUnitTests(options = {}) {
  const folder = createTemporaryFolder();
  try {
    const backends = await prepare('Unit tests: backends', async () => {
      const { startTestBackends } = await import('../deploy/local/dist/test-backends.js');
      return startTestBackends(await createReporter(), { parentFolder: folder });
    });
    if (backends.value === undefined) return [backends.row];
    const mongod = await prepareReplicaSets('Unit tests');
    const tests = await runJest('Unit tests', {
      ...unitTestFiles(options, options.workers ?? unitWorkers),
      env: { ...backends.value.env, ...mongod.value, ...options.env, TMPDIR: folder },
    });
    await backends.value.stop();
    return [backends.row, mongod.row, tests];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Returns the end-to-end test files that match the patterns, and whether each of them opens a browser.
 * @param {readonly string[]} [patterns]
 */
function listEndToEndFiles(patterns = []) {
  const folder = join('test-e2e', 'src');
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .filter((file) => patterns.length === 0 || patterns.some((pattern) => new RegExp(pattern).test(file)))
    .map((file) => ({
      file,
      hasBrowser: /DashboardBrowser|playwright-core/.test(readFileSync(join(root, file), 'utf8')),
    }));
}

/**
 * Runs the end-to-end tests. They need the product, a browser, and the fuzzer that reads the OpenAPI documents.
 * @param {StageOptions} options
 */
export async function runEndToEndTests(options = {}) {
  const backends = await prepare('End-to-end tests: backends', async () => {
    const { prepareProductBackends } = await import('../deploy/local/dist/test-backends.js');
    return prepareProductBackends(await createReporter());
  });
  const browser = await prepare('End-to-end tests: browser', async () => {
    const { prepareChromium } = await import('../deploy/local/dist/test-browser.js');
    return { CHROMIUM_PATH: await prepareChromium(await createReporter()) };
  });
  const fuzzer = await prepare('End-to-end tests: fuzzer', async () => {
    const { prepareFuzzer } = await import('../deploy/local/dist/test-fuzzer.js');
    const { python, home } = await prepareFuzzer(await createReporter());
    return { SCHEMATHESIS_PYTHON: python, SCHEMATHESIS_HOME: home };
  });
  const mongod = await prepareReplicaSets('End-to-end tests');
  const { ProductPool } = await import('./product-pool.mjs');
  const folder = createTemporaryFolder();
  const pool = await ProductPool.open(folder);
  try {
    const own = { TMPDIR: folder, PRODUCT_POOL_URL: pool.url };
    const env = { ...backends.value, ...browser.value, ...fuzzer.value, ...mongod.value, ...options.env, ...own };
    const listed = listEndToEndFiles(options.patterns);
    const rows = [];
    for (const [title, hasBrowser, workers] of endToEndRuns) {
      const files = listed.filter((each) => each.hasBrowser === hasBrowser).map(({ file }) => file);
      if (files.length === 0) continue;
      const args = jestArgs(
        { args: [...(options.args ?? []), '--runTestsByPath', ...files] },
        options.workers ?? workers,
      );
      rows.push(await runJest(title, { project: 'e2e', args, env }));
    }
    return [backends.row, browser.row, fuzzer.row, mongod.row, ...rows];
  } finally {
    await pool.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
