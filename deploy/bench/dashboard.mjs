// `npm run bench -- dashboard`: measures the live map in Chromium with 10,000 vehicles at 1,000 positions a second, from a
// server that speaks the protocol of platform-api, and the video wall of a running product. Writes
// docs/benchmarks-dashboard.md. Settings: VEHICLES (10000), UPDATES (1000 a second), MINUTES (10), CHROMIUM_PATH,
// TRACCAR_WEB_DIR (the built web client of Traccar, for a comparison). Fails if a task of the main thread takes
// TASK_LIMIT_MS (200) of CPU time or more.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readProcesses } from './browser-processes.mjs';
import { formatTiles, measureTiles } from './dashboard-tiles.mjs';
import { machine } from './machine.mjs';
import { traceMainThread } from './main-thread.mjs';

const { chromium } = createRequire(new URL('../../test-e2e/package.json', import.meta.url))('playwright-core');
const target = fileURLToPath(new URL('../../docs/benchmarks-dashboard.md', import.meta.url));
const vehicles = Number(process.env.VEHICLES ?? 10_000);
const updates = Number(process.env.UPDATES ?? 1_000);
const minutes = Number(process.env.MINUTES ?? 10);
const taskLimitMs = Number(process.env.TASK_LIMIT_MS ?? 200);
const traceSeconds = 20;
const panSeconds = 15;
const mebibyte = 2 ** 20;

/** Built web client of Traccar, which is measured with the same vehicles. */
const peerFolder = process.env.TRACCAR_WEB_DIR;

/** Starts a server of this folder. Returns its URL. */
async function startServer(file, ...args) {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const server = spawn(process.execPath, [path, ...args.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [port] = await once(server.stdout.setEncoding('utf8'), 'data');
  return { url: `http://127.0.0.1:${port.trim()}`, stop: () => server.kill() };
}

const { url, stop: stopServer } = await startServer('dashboard-server.mjs', vehicles, updates);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  headless: true,
  args: [
    '--no-sandbox',
    '--use-gl=angle',
    '--use-angle=swiftshader',
    '--enable-unsafe-swiftshader',
    '--enable-precise-memory-info',
    '--autoplay-policy=no-user-gesture-required',
  ],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const browserSession = await browser.newBrowserCDPSession();
await context.addInitScript("localStorage.setItem('fleet-has-session', '1')");

try {
  const result = await measure();
  console.table(result.rows);
  stopServer();
  const peer = peerFolder === undefined ? undefined : await measurePeer(peerFolder);
  const tiles = await measureTiles(browser);
  console.table(tiles.rows);
  const peerSection = peer === undefined ? '' : `\n${formatPeer(peer, result)}`;
  writeFileSync(target, `${toMarkdown(result)}${peerSection}\n${formatTiles(tiles)}`);
  console.log(`written: ${target}`);
  if (result.longestCpuMs >= taskLimitMs) {
    console.error(
      `A task of the main thread took ${result.longestCpuMs.toFixed(0)} ms of CPU time; the limit is ${taskLimitMs} ms.`,
    );
    process.exitCode = 1;
  }
} finally {
  await browser.close();
  stopServer();
}

async function measure() {
  const firstPageMs = await measureFirstPage();
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  const trace = (run) => traceMainThread(browserSession, run);
  const start = await trace(() => openMap(page));
  await sleep(5_000);
  if ((await page.locator('.fleet-map-failure').count()) > 0) throw new Error('The map is not shown.');
  const openMemory = await readMemory(page, session);
  const world = await trace(() => sleep(traceSeconds * 1_000));
  const panned = { pan: {}, framesPerSecond: 0 };
  panned.pan = await trace(async () => {
    panned.framesPerSecond = await panMap(page);
  });
  await page.goto(`${url}/map?at=10.9,76.9,13.2`);
  await page.getByRole('list', { name: 'Vehicles' }).locator('li').first().waitFor();
  await sleep(5_000);
  const city = await trace(() => sleep(traceSeconds * 1_000));
  let framesPerSecond = 0;
  const pan = await trace(async () => {
    framesPerSecond = await panMap(page);
  });
  const load = loadavg()[0];
  const before = await readMemory(page, session);
  await sleep(minutes * 60_000);
  const after = await readMemory(page, session);
  const phases = {
    'opening the page': start,
    'clusters, at rest': world,
    'clusters, panning': panned.pan,
    'single vehicles, at rest': city,
    'single vehicles, panning': pan,
  };
  return {
    rows: phases,
    load,
    firstPageMs,
    framesPerSecond,
    panned,
    openMemory,
    before,
    after,
    longestCpuMs: Math.max(...Object.values(phases).map((each) => each.longestCpuMs)),
  };
}

async function openMap(page) {
  await page.goto(`${url}/map`);
  await page.getByRole('list', { name: 'Vehicles' }).locator('li').first().waitFor();
  await page.locator('canvas.maplibregl-canvas').waitFor();
}

/** Returns the time from the navigation to the first row of the list, with an empty cache. */
async function measureFirstPage() {
  const page = await context.newPage();
  const startedMs = performance.now();
  await page.goto(`${url}/map`);
  await page.getByRole('list', { name: 'Vehicles' }).locator('li').first().waitFor();
  const firstRowMs = performance.now() - startedMs;
  await page.close();
  return firstRowMs;
}

/** Measures the web client of Traccar as the page of this product: opening, at rest with the whole fleet, and panning. */
async function measurePeer(folder) {
  const server = await startServer('dashboard-peer-server.mjs', folder, vehicles, updates);
  const page = await context.newPage();
  try {
    const session = await context.newCDPSession(page);
    const trace = (run) => traceMainThread(browserSession, run);
    const startedMs = performance.now();
    await page.goto(server.url);
    await page.getByText('Truck 1', { exact: true }).first().waitFor();
    const firstPageMs = performance.now() - startedMs;
    await page.locator('canvas.maplibregl-canvas').waitFor();
    const start = await trace(() =>
      page.reload().then(() => page.getByText('Truck 1', { exact: true }).first().waitFor()),
    );
    await sleep(5_000);
    const openMemory = await readMemory(page, session);
    const rest = await trace(() => sleep(traceSeconds * 1_000));
    let framesPerSecond = 0;
    const pan = await trace(async () => {
      framesPerSecond = await panMap(page);
    });
    return { start, rest, pan, firstPageMs, framesPerSecond, openMemory };
  } finally {
    await page.close();
    server.stop();
  }
}

/** Drags the map, and returns the frames that the page could draw in each second. */
async function panMap(page) {
  await page.evaluate(
    `window.benchFrames = 0; (function count() { window.benchFrames += 1; requestAnimationFrame(count); })();`,
  );
  const startedMs = performance.now();
  const framesBefore = await page.evaluate('window.benchFrames');
  await page.mouse.move(800, 400);
  await page.mouse.down();
  for (let step = 0; performance.now() - startedMs < panSeconds * 1_000; step += 1) {
    await page.mouse.move(800 + 150 * Math.sin(step / 15), 400 + 100 * Math.cos(step / 15));
    await sleep(16);
  }
  await page.mouse.up();
  const frames = (await page.evaluate('window.benchFrames')) - framesBefore;
  return frames / ((performance.now() - startedMs) / 1_000);
}

/** Returns the heap of the page after a collection, and the memory of its process. */
async function readMemory(page, session) {
  await session.send('HeapProfiler.collectGarbage');
  const heapBytes = await page.evaluate('performance.memory.usedJSHeapSize');
  const { memoryMiB: processMiB } = await readProcesses(browserSession);
  return { heapMiB: heapBytes / mebibyte, processMiB };
}

/** Returns the section that compares the page with Traccar's. */
function formatPeer(peer, { rows, firstPageMs, panned, openMemory }) {
  const round = (value, digits = 0) => value.toFixed(digits);
  const ownRows = [rows['opening the page'], rows['clusters, at rest'], panned.pan];
  const peerRows = [peer.start, peer.rest, peer.pan];
  const lines = ['opening the page', 'whole fleet, at rest', 'whole fleet, panning'].flatMap((name, at) => {
    const [own, other] = [ownRows[at], peerRows[at]];
    const format = ({ longestWallMs, longestCpuMs }) => `${round(longestWallMs)} ms, ${round(longestCpuMs)} ms`;
    const formatShare = ({ wallShare, cpuShare }) => `${round(wallShare * 100)} %, ${round(cpuShare * 100)} %`;
    return [
      `| ${name}: longest task, wall and CPU | ${format(own)} | ${format(other)} |`,
      `| ${name}: share of the main thread, wall and CPU | ${formatShare(own)} | ${formatShare(other)} |`,
    ];
  });
  return `## Beside the web client of Traccar

The same vehicles, positions and batches, for the web client of Traccar (\`TRACCAR_WEB_DIR\`) with a map of image tiles that cannot be loaded. Both
pages show the whole fleet.

| figure | this product | Traccar |
|---|---|---|
| navigation to the first row of the list | ${round(firstPageMs)} ms | ${round(peer.firstPageMs)} ms |
${lines.join('\n')}
| frames per second while panning | ${round(panned.framesPerSecond, 1)} | ${round(peer.framesPerSecond, 1)} |
| JavaScript heap of the page, memory of its process | ${round(openMemory.heapMiB, 1)} MiB, ${round(openMemory.processMiB)} MiB | ${round(peer.openMemory.heapMiB, 1)} MiB, ${round(peer.openMemory.processMiB)} MiB |
`;
}

function toMarkdown({ rows, load, firstPageMs, framesPerSecond, before, after }) {
  const round = (value, digits = 0) => value.toFixed(digits);
  const lines = Object.entries(rows).map(
    ([name, each]) =>
      `| ${name} | ${round(each.longestWallMs)} | ${round(each.longestCpuMs)} | ${round(each.p99WallMs, 1)} | ${round(each.wallShare * 100)} % | ${round(each.cpuShare * 100)} % |`,
  );
  return `# Benchmarks of the dashboard

Written by \`npm run bench -- dashboard\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}, with a load average of ${round(load, 1)}.
Chromium draws with software (SwiftShader), and shares the cores with the server. The live map shows ${vehicles.toLocaleString('en')} vehicles, and
${updates.toLocaleString('en')} positions arrive each second. A task is what the main thread does without a pause: input waits for its end. Wall time includes the
time in which other programs had the cores. It also includes the time in which the page waited for the software renderer to draw a frame.
CPU time includes neither.

| phase | longest task, wall ms | longest task, CPU ms | 99 % of the tasks, wall ms | share of the main thread, wall | share, CPU |
|---|---|---|---|---|---|
${lines.join('\n')}

| figure | value |
|---|---|
| navigation to the first row of the list | ${round(firstPageMs)} ms |
| frames per second while panning | ${round(framesPerSecond, 1)} |
| JavaScript heap of the page after the measurements, and ${minutes} minutes later | ${round(before.heapMiB, 1)} MiB, ${round(after.heapMiB, 1)} MiB |
| memory of the process of the page, with the worker | ${round(before.processMiB)} MiB, ${round(after.processMiB)} MiB |
`;
}
