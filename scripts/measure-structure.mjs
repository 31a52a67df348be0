// Prints the figures of docs/decisions/0017-names-and-layers.md: rooms and arrows of each package, words of comments,
// longest files and functions. An argument names another checkout, for example one of an earlier commit. `--list` prints
// every long function and the rooms of each circle.
import { resolve } from 'node:path';
import { root } from './steps.mjs';
import { measureCommentWords } from './structure/comment-words.mjs';
import { findLongFunctions } from './structure/function-lengths.mjs';
import { buildRoomGraph, countArrows, findCycles, findUpwardArrows } from './structure/import-graph.mjs';
import { byName, readSourceFiles } from './structure/source-files.mjs';

const longestCount = 10;
const isListing = process.argv.includes('--list');
/** Files and functions at or above these sizes are counted. */
const longFileLines = 300;
const longFunctionLines = 61;

const isInPackage = ({ isTest, packageName, path }) => !isTest && packageName !== undefined && path.includes('/src/');

function printRooms(files) {
  console.log('package: rooms, arrows, upward arrows, rooms in circles');
  for (const name of [...new Set(files.map(({ packageName }) => packageName))].toSorted(byName)) {
    const graph = buildRoomGraph(files.filter(({ packageName }) => packageName === name));
    const cycles = findCycles(graph);
    const sizes = cycles.length === 0 ? '0' : cycles.map(({ length }) => length).join(' + ');
    console.log(`${name}: ${graph.size}, ${countArrows(graph)}, ${findUpwardArrows(graph).length}, ${sizes}`);
    if (isListing) for (const cycle of cycles) console.log(`  circle: ${cycle.join(', ')}`);
  }
}

function printWords(files) {
  const { wordCount, rates } = measureCommentWords(files);
  console.log(`\n${wordCount} words of comments`);
  for (const { name, per10000 } of rates) console.log(`${name}: ${per10000.toFixed(1)} in 10,000`);
}

function printLongest(title, items, describe) {
  const sorted = items.toSorted((a, b) => b.lines - a.lines);
  console.log(`\n${title}`);
  for (const item of isListing ? sorted : sorted.slice(0, longestCount)) console.log(`${item.lines} ${describe(item)}`);
}

const describeFunction = ({ name, path, line }) => `${name} (${path}:${line})`;

function printSizes(files) {
  const functions = files.flatMap((file) => findLongFunctions(file, longFunctionLines));
  for (const isTest of [false, true]) {
    const kind = isTest ? 'tests' : 'sources';
    const long = files.filter((file) => file.isTest === isTest && file.lines >= longFileLines);
    printLongest(`${kind}: ${long.length} files of ${longFileLines} lines or more`, long, ({ path }) => path);
    for (const isTable of [false, true]) {
      const own = functions.filter((item) => item.isTest === isTest && item.isTable === isTable);
      const unit = isTable ? 'functions that return a table' : 'other functions';
      printLongest(`${kind}: ${own.length} ${unit} of ${longFunctionLines} lines or more`, own, describeFunction);
    }
  }
}

const [checkout = root] = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
/** The words that the vocabulary forbids, and generated files. */
const ignoredPaths = new Set([
  'scripts/vocabulary.mjs',
  'libs/api-client/src/platform-api.ts',
  'libs/api-client/src/request-schemas.ts',
]);
const files = readSourceFiles(resolve(checkout)).filter(({ path }) => !ignoredPaths.has(path));
printRooms(files.filter(isInPackage));
printWords(files);
printSizes(files);
