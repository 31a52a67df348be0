import { setTimeout as sleep } from 'node:timers/promises';
import { createCameraClips, getDefaultCacheDir, SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { readProcesses } from './browser-processes.mjs';
import { raisedLimits } from './limits.mjs';
import { logIn } from './log-in.mjs';
import { traceMainThread } from './main-thread.mjs';

const layouts = [1, 4, 9, 16];
const vehicleCount = 8;
const channels = [1, 2];
const measureSeconds = 20;
const startTimeoutMs = 120_000;
const blockMs = 500;
const blockIntervalMs = 5_000;

/** Creates a vehicle with two cameras, whose terminal is connected. */
async function startVehicle(product, post, index) {
  const phone = String(13_600_000_001 + index).padStart(12, '0');
  const vehicle = { vehicle_no: phone, imei: phone, channels: channels.map((id) => ({ channel_id: id })) };
  const { id } = await post('/vehicles', vehicle);
  const clips = createCameraClips(phone, { cacheDir: getDefaultCacheDir() }, { main: { stamp: '' } });
  await Promise.all([clips(1, 'main'), clips(1, 'sub')]);
  const { host, port } = product.runtime.jt808;
  const terminal = new SimulatedTerminal({ host, port, phone, channels: 2, reportIntervalMs: 0, clips });
  terminal.start();
  await terminal.waitUntilOnline(60_000);
  return { id, terminal, fps: (await clips(1, 'sub')).spec.fps };
}

/** Returns the pictures that each tile has decoded and dropped, and its delay behind the newest data. */
const readTiles = (page) =>
  page.evaluate(`[...document.querySelectorAll('.tile video')].map((video) => {
    const { totalVideoFrames: decoded, droppedVideoFrames: dropped } = video.getVideoPlaybackQuality();
    const { buffered, currentTime } = video;
    return { decoded, dropped, latencyS: buffered.length === 0 ? 0 : buffered.end(buffered.length - 1) - currentTime };
  })`);

/** Waits until all tiles play. Resumes those that the page has parked. */
async function waitForTiles(page, count) {
  const deadline = performance.now() + startTimeoutMs;
  for (;;) {
    const tiles = await readTiles(page);
    if (tiles.length >= count && tiles.every(({ decoded }) => decoded > 0)) return;
    if (performance.now() > deadline) throw new Error(`Of ${count} tiles, ${tiles.length} have a picture.`);
    const resume = page.locator('.tile').getByRole('button', { name: /^(Resume|Retry)$/ });
    if (await resume.first().isVisible())
      await resume
        .first()
        .click()
        .catch(() => undefined);
    await sleep(500);
  }
}

/** Keeps the main thread of the page busy for half a second, every five seconds. Returns a function that ends it. */
async function blockMainThread(page) {
  await page.evaluate(`window.benchBlocks = setInterval(() => {
    const endMs = performance.now() + ${blockMs};
    while (performance.now() < endMs);
  }, ${blockIntervalMs})`);
  return () => page.evaluate('clearInterval(window.benchBlocks)');
}

/** Measures the tiles that play. */
async function measure(page, browserSession) {
  const before = await readTiles(page);
  const processesBefore = await readProcesses(browserSession);
  const thread = await traceMainThread(browserSession, () => sleep(measureSeconds * 1_000));
  const processes = await readProcesses(browserSession);
  const after = await readTiles(page);
  const sum = (field) => after.reduce((total, tile, at) => total + tile[field] - (before[at]?.[field] ?? 0), 0);
  return {
    tiles: after.length,
    picturesPerSecond: sum('decoded') / after.length / measureSeconds,
    droppedShare: sum('dropped') / sum('decoded'),
    latencyS: Math.max(...after.map(({ latencyS }) => latencyS)),
    longestWallMs: thread.longestWallMs,
    threadShare: thread.cpuShare,
    cores: (processes.cpuMs - processesBefore.cpuMs) / 1_000 / measureSeconds,
    memoryMiB: processes.memoryMiB,
  };
}

/**
 * Measures the video wall with 1, 4, 9 and 16 tiles, and 16 while the main thread is blocked again and again. The product,
 * its simulated cameras and the browser share the machine.
 */
export async function measureTiles(browser) {
  const product = await startProduct({ env: { ...raisedLimits, LOG_LEVEL: 'warn' } });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  // A desktop with enough cores for sixteen tiles.
  await context.addInitScript("Object.defineProperty(navigator, 'hardwareConcurrency', { value: 8 })");
  const vehicles = [];
  try {
    const post = await logIn(product);
    for (let index = 0; index < vehicleCount; index += 1) vehicles.push(await startVehicle(product, post, index));
    const tiles = vehicles.flatMap(({ id }) => channels.map((channel) => `${id}.${channel}`));
    const browserSession = await browser.newBrowserCDPSession();
    const page = await context.newPage();
    const { base_url: base, demo } = product.runtime;
    await page.goto(base);
    await page.getByLabel('E-mail or phone').fill(demo.email);
    await page.locator('input[type=password]').fill(demo.password);
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('list', { name: 'Vehicles' }).waitFor();
    const rows = {};
    for (const layout of layouts) {
      await page.goto(`${base}/video?layout=${layout}&tiles=${tiles.slice(0, layout).join(',')}`);
      await waitForTiles(page, layout);
      await sleep(5_000);
      rows[layout] = await measure(page, browserSession);
    }
    const unblock = await blockMainThread(page);
    await sleep(2 * blockIntervalMs);
    rows[`16, main thread blocked for ${blockMs} ms every ${blockIntervalMs / 1_000} s`] = await measure(
      page,
      browserSession,
    );
    await unblock();
    return { rows, fps: vehicles[0].fps };
  } finally {
    await context.close();
    await Promise.all(vehicles.map(({ terminal }) => terminal.stop()));
    await product.stop();
  }
}

/** Returns the section of the document. */
export function formatTiles({ rows, fps }) {
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  const lines = Object.entries(rows).map(
    ([name, row]) =>
      `| ${name} | ${row.picturesPerSecond.toFixed(1)} | ${percent(row.droppedShare)} | ${row.latencyS.toFixed(1)} | ${row.longestWallMs.toFixed(0)} | ${percent(row.threadShare)} | ${row.cores.toFixed(2)} | ${row.memoryMiB.toFixed(0)} |`,
  );
  return `## Video wall

Live sub streams of ${vehicleCount} simulated vehicles with two cameras of ${fps} pictures a second; the focused tile shows the main stream. Chromium decodes with
software. The product and the cameras share the cores with it.

| tiles | pictures per second and tile | dropped | longest latency, s | longest task, wall ms | main thread, CPU | cores used by the browser | memory of the page, MiB |
|---|---|---|---|---|---|---|---|
${lines.join('\n')}
`;
}
