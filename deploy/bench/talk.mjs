// `npm run bench -- talk`: measures the delay of talk through the whole product, from a sample that a talker sends to the
// driver's terminal, and back. The simulated driver and the talker alternate between silence and a tone; a delay is the
// time between the first loud sample on one side and on the other one. Frames of 20 ms (talker) and 40 ms (driver) must
// be complete before they are sent, and are part of it. Prints a table, and the load average before. Fails above DELAY_LIMIT_MS (300) at the median.
// Settings: TONES (50 for each codec), DELAY_LIMIT_MS.
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createCameraClips,
  createTone,
  getDefaultCacheDir,
  SimulatedTerminal,
} from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { raisedLimits } from './limits.mjs';

const { WebSocket } = createRequire(new URL('../../services/device-api/package.json', import.meta.url))('ws');
const [tones, delayLimitMs] = [Number(process.env.TONES ?? 50), Number(process.env.DELAY_LIMIT_MS ?? 300)];
const messageSamples = 160;
const messageMs = 20;
/** Below the tone, and above what silence becomes in a lossy codec. */
const loud = 2_000;

const nowMs = () => performance.timeOrigin + performance.now();
const isLoud = (pcm) => pcm.some((sample) => Math.abs(sample) > loud);
/** @type {Buffer} */
const silence = Buffer.alloc(2 * messageSamples);
const tone = Buffer.from(createTone(900, { samples: messageSamples }).buffer);

/** Returns the delays from the talker to the terminal. */
async function measureToDriver(terminal, socket) {
  const frames = () => terminal.cameras.records.findLast(({ kind }) => kind === 'talk')?.receivedFrames ?? [];
  const delays = [];
  /** @type {Buffer} */
  let message = silence;
  let loudSinceMs = null;
  const timer = setInterval(() => {
    // The first sample of a message was spoken 20 ms before the message was complete.
    if (message === tone) loudSinceMs ??= nowMs() - messageMs;
    socket.send(message);
  }, messageMs);
  for (let count = 0; count < tones; count += 1) {
    message = silence;
    await waitFor(() => frames().length > 0 && !isLoud(frames().at(-1).pcm));
    await sleep(60 + Math.random() * messageMs);
    loudSinceMs = null;
    const before = frames().length;
    message = tone;
    const frame = await waitFor(
      () =>
        loudSinceMs !== null &&
        frames()
          .slice(before)
          .find(({ pcm }) => isLoud(pcm)),
    );
    delays.push(frame.atMs - loudSinceMs);
  }
  clearInterval(timer);
  return delays;
}

/** Returns the delays from the terminal to the talker. */
async function measureToTalker(terminal, socket) {
  const delays = [];
  let last = { isLoud: false, atMs: 0 };
  socket.on('message', (data) => {
    const pcm = new Int16Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
    last = { isLoud: isLoud(pcm), atMs: nowMs() };
  });
  const { voice } = terminal.options;
  for (let count = 0; count < tones; count += 1) {
    voice.amplitude = 0;
    await waitFor(() => last.atMs > 0 && !last.isLoud);
    await sleep(100 + Math.random() * 40);
    // The driver speaks from now on; the terminal sends a frame when its 40 ms are complete.
    const startedAtMs = nowMs();
    voice.amplitude = 8_000;
    delays.push((await waitFor(() => last.isLoud && last)).atMs - startedAtMs);
  }
  return delays;
}

async function waitFor(check) {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    const result = check();
    if (result) return result;
    if (performance.now() > deadlineMs) throw new Error('a tone did not arrive within 20 seconds');
    await sleep(1);
  }
}

const percentile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN;

let isTooSlow = false;
const loadBefore = loadavg()[0];

/** Prints one row of the table. */
function report(codec, direction, delays) {
  const row = [0.5, 0.95, 1].map((share) => percentile(delays, share).toFixed(0));
  console.log(`| ${codec} | ${direction} | ${row.join(' | ')} |`);
  isTooSlow ||= percentile(delays, 0.5) > delayLimitMs;
}

const product = await startProduct({ env: { ...raisedLimits, LOG_LEVEL: 'warn' } });
try {
  const { jt808, video_url: videoUrl } = product.runtime;
  console.log(`${availableParallelism()} cores; the load average before was ${loadBefore.toFixed(1)}.\n`);
  console.log('| codec | direction | median, ms | 95 %, ms | longest, ms |\n| --- | --- | --- | --- | --- |');
  for (const [index, audio] of /** @type {const} */ (['g711a', 'g711u', 'g726', 'adpcm']).entries()) {
    const phone = `01380000900${index}`;
    const clips = createCameraClips(phone, { cacheDir: getDefaultCacheDir() });
    const camera = /** @type {const} */ ({ video: 'h264', audio });
    const voice = { toneHz: 600, amplitude: 0 };
    const terminal = new SimulatedTerminal({ ...jt808, phone, reportIntervalMs: 0, clips, camera, voice });
    terminal.start();
    await terminal.waitUntilOnline(60_000);
    const socket = new WebSocket(`${videoUrl.replace(/^http/, 'ws')}/${phone}/1/talk`);
    await once(socket, 'open');
    report(audio, 'talker to driver', await measureToDriver(terminal, socket));
    report(audio, 'driver to talker', await measureToTalker(terminal, socket));
    socket.close();
    await terminal.stop();
  }
} finally {
  await product.stop();
}
if (isTooSlow) {
  console.error(`The median delay exceeds ${delayLimitMs} ms.`);
  process.exitCode = 1;
}
