// Runs jest for one project and reads the test counts and the duration of each file.
import { mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { root, runStep } from './steps.mjs';

const sharedMemory = '/dev/shm';
const wantedBytes = 4 * 1024 ** 3;
const maxSlowFiles = 20;
const maxMessageLines = 8;

function hasSharedMemory() {
  try {
    const { bavail, bsize } = statfsSync(sharedMemory);
    return bavail * bsize >= wantedBytes;
  } catch {
    return false; // Not a Linux system.
  }
}

/**
 * Creates the folder for temporary files of a stage: in memory if there is enough, because the servers of tests often
 * wait for the disk.
 */
export function createTemporaryFolder() {
  return mkdtempSync(join(hasSharedMemory() ? sharedMemory : tmpdir(), 'fleet-test-'));
}

/** Counts the tests of a jest report. A file that could not be loaded has no tests and counts as one failure. */
function countTests({ testResults, numFailedTests, numPassedTests, numPendingTests, numTodoTests }, ok) {
  const unloadable = testResults.filter(({ status, assertionResults }) => {
    return status === 'failed' && assertionResults.every((test) => test.status !== 'failed');
  }).length;
  const failed = numFailedTests + unloadable;
  return {
    passed: numPassedTests,
    failed: failed === 0 && !ok ? 1 : failed,
    skipped: numPendingTests + numTodoTests,
  };
}

function countFile(file, seconds, tests) {
  const count = (status) => tests.filter((test) => test.status === status).length;
  return { file, seconds, passed: count('passed'), failed: tests.length === 0 ? 1 : count('failed') };
}

/** Returns the files of a group (scripts/test-groups.mjs); each starts when the previous one has ended. */
function readGroup({ startTime, assertionResults }) {
  const files = [...new Set(assertionResults.map(({ ancestorTitles }) => ancestorTitles[0]))];
  let startedAt = startTime;
  return files.map((file) => {
    const tests = assertionResults.filter(({ ancestorTitles }) => ancestorTitles[0] === file);
    const endedAt = Math.max(startedAt, ...tests.map(({ startAt, duration }) => (startAt ?? 0) + (duration ?? 0)));
    const seconds = (endedAt - startedAt) / 1000;
    startedAt = endedAt;
    return countFile(file, seconds, tests);
  });
}

/** Returns the files of a jest report with their durations and counts, the slowest first. */
function durationsOf({ testResults }) {
  return testResults
    .flatMap((result) => {
      const { name, startTime, endTime, assertionResults } = result;
      const isGroup = name.endsWith('.mjs') && assertionResults.length > 0;
      return isGroup
        ? readGroup(result)
        : [countFile(relative(root, name), (endTime - startTime) / 1000, assertionResults)];
    })
    .toSorted((left, right) => right.seconds - left.seconds);
}

// jest colours its messages, and ends them with the source and the stack.
const colour = new RegExp(`${String.fromCodePoint(27)}\\[\\d+m`, 'g');
const sourceLine = /^\s+(?:>\s+)?\d+ \||^\s+at /;

/** Returns the first lines of each message of a failed test, without source and stack. */
function formatMessages(messages = []) {
  return messages.flatMap((message) => {
    const lines = message.replace(colour, '').split('\n');
    const end = lines.findIndex((line) => sourceLine.test(line));
    const relevant = (end === -1 ? lines : lines.slice(0, end)).filter((line) => line.trim() !== '');
    return relevant.slice(0, maxMessageLines).map((line) => `    ${line}`);
  });
}

/** Returns the titles of the tests that failed, with their files and messages, and the files that could not be loaded. */
function failuresOf({ testResults }) {
  return testResults
    .filter(({ status }) => status === 'failed')
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter((test) => test.status === 'failed');
      const failures = failed.length > 0 ? failed : [{ fullName: 'could not be loaded', failureMessages: [message] }];
      return failures.map(({ fullName, failureMessages }) =>
        [`${relative(root, name)}: ${fullName}`, ...formatMessages(failureMessages)].join('\n'),
      );
    });
}

/**
 * Runs the tests of a project. Returns { title, seconds, counts, files, failures }: the test counts, the duration of
 * each file, and the titles and messages of the failed tests.
 * @param {string} title
 * @param {{ project: string, args: readonly string[], env: NodeJS.ProcessEnv }} options
 */
export async function runJest(title, { project, args, env }) {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-report-'));
  const outputFile = join(folder, 'report.json');
  const program = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  // Modules are loaded again for each file: a large young generation saves a seventh of the time by fewer garbage
  // collections.
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', '--max-semi-space-size=64'];
  const options = ['--selectProjects', project, '--json', `--outputFile=${outputFile}`, ...args];
  const { ok, seconds } = await runStep(title, process.execPath, [...flags, program, ...options], {
    env: { ...process.env, ...env, NODE_ENV: 'test' },
  });
  try {
    const report = JSON.parse(readFileSync(outputFile, 'utf8'));
    const failures = failuresOf(report);
    return { title, seconds, counts: countTests(report, ok), files: durationsOf(report), failures };
  } catch {
    return { title, seconds, counts: { failed: 1 }, files: [], failures: ['jest was killed'] };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Formats the slowest files of a stage, one per line. */
export function formatSlowFiles(title, files) {
  const total = files.reduce((sum, { seconds }) => sum + seconds, 0);
  const slow = files.slice(0, maxSlowFiles).map(({ file, seconds }) => `${seconds.toFixed(1).padStart(8)} s   ${file}`);
  return [`${title}: ${files.length} files took ${total.toFixed(0)} s, the slowest are`, ...slow].join('\n');
}
