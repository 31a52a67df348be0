import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { setTimeout as delay } from 'node:timers/promises';
import { formatInteger, percentile } from './statistics.mjs';

const requireModule = createRequire(new URL('../../test-e2e/package.json', import.meta.url));
const { chromium } = requireModule('playwright-core');

const startTimeoutMs = 60_000;
/** hls.js approaches its target position within this time. */
const settleMs = 10_000;
const sampleIntervalMs = 200;

const page = `<!doctype html>
<video id="video" muted autoplay playsinline></video>
<script src="hls.js"></script>
<script>
  window.player = new Hls({ lowLatencyMode: true });
  player.loadSource(location.hash.slice(1));
  player.attachMedia(document.getElementById('video'));
</script>`;

/** Serves a page with hls.js. */
export async function servePlayerPage() {
  const hls = readFileSync(requireModule.resolve('hls.js/dist/hls.js'));
  const server = createServer((request, response) => {
    if (request.url === '/hls.js') response.setHeader('Content-Type', 'text/javascript').end(hls);
    else response.setHeader('Content-Type', 'text/html').end(page);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}/`,
    origin: `http://127.0.0.1:${port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Evaluated in the page: the picture that is shown, as a segment of the playlist and a time in it. */
const readPosition = `(() => {
  const video = document.getElementById('video');
  const fragments = window.player.levels[0]?.details?.fragments ?? [];
  const fragment = fragments.findLast(({ start }) => start <= video.currentTime);
  if (fragment === undefined || video.readyState < 3) return null;
  return { sequence: fragment.sn, offsetMs: (video.currentTime - fragment.start) * 1000, atMs: Date.now() };
})()`;

/** Returns the first number of a box's content after version and flags; 64 bits in version 1. */
function readNumber(data, type, offset) {
  const at = data.indexOf(type, 0, 'latin1') + 4;
  if (at < 4) throw new Error(`there is no box ${type}`);
  const isLong = data[at] === 1;
  const valueAt = at + 4 + (isLong ? offset * 2 : offset);
  return isLong && type === 'tfdt' ? Number(data.readBigUInt64BE(valueAt)) : data.readUInt32BE(valueAt);
}

/** Returns a function that returns the stream's time at which a segment begins, in milliseconds. */
function createSegmentClock(playlistUrl) {
  const starts = new Map();
  const fetchFile = async (name) => {
    const response = await fetch(playlistUrl.replace('index.m3u8', `hls/${name}`));
    if (response.status !== 200) throw new Error(`${name}: ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  };
  let timescale;
  return async (sequence) => {
    if (timescale === undefined) {
      const [, init] = /URI="hls\/(init-\d+\.mp4)/.exec(await (await fetch(playlistUrl)).text()) ?? [];
      // The time scale of mdhd follows the times of creation and change.
      timescale = readNumber(await fetchFile(init), 'mdhd', 8);
    }
    if (!starts.has(sequence)) {
      const part = await fetchFile(`part-${sequence}.0.m4s`);
      starts.set(sequence, (readNumber(part, 'tfdt', 0) * 1000) / timescale);
    }
    return starts.get(sequence);
  };
}

/** Measures the time from a picture's departure at the camera to its display by hls.js in Chromium. Returns a row. */
export async function measureHlsDelay({ send, connect, playerPage, samples }) {
  const { vehicleId, terminal } = await connect();
  const { hls_url: url } = await send(`/vehicles/start-dashcam-stream/${vehicleId}`, { wake: false });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  });
  try {
    const tab = await browser.newPage();
    await tab.goto(`${playerPage.url}#${url}`);
    await tab.waitForFunction('document.getElementById("video").currentTime > 0', null, { timeout: startTimeoutMs });
    const [firstPicture] = terminal.cameras.records.at(-1).sentVideoFrames;
    await delay(settleMs);
    const startOf = createSegmentClock(url);
    const delays = [];
    while (delays.length < samples) {
      const position = await tab.evaluate(readPosition);
      // The stream's time begins with the first picture, whose timestamp is the time at which the camera sent it.
      if (position !== null)
        delays.push(
          position.atMs - (firstPicture.timestampMs + (await startOf(position.sequence)) + position.offsetMs),
        );
      await delay(sampleIntervalMs);
    }
    const cells = [0.5, 0.95, 1].map((share) => formatInteger(percentile(delays, share)));
    return `| ${cells.join(' | ')} |`;
  } finally {
    await browser.close();
    await send(`/vehicles/stop-dashcam-stream/${vehicleId}`, { channel_id: 1, force: true });
  }
}
