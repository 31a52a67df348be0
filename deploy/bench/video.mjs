// `npm run bench -- video`: measures the time from a start to the first picture by each kind of URL, and the conversion
// of uploaded clips to MP4 against ffmpeg alone, and the delay of HLS in Chromium. Writes docs/benchmarks-video.md. Fails
// if the median of a first picture exceeds PICTURE_LIMIT_MS (1000). Settings: STARTS (30 for each kind of URL), CLIPS (3
// for each length), HLS_SAMPLES (100). STARTS=0 measures only the delay of HLS, and prints it.
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCameraClips, SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { measureFirstPictures } from './first-pictures.mjs';
import { measureHlsDelay, servePlayerPage } from './hls-delay.mjs';
import { raisedLimits } from './limits.mjs';
import { logIn } from './log-in.mjs';
import { machine } from './machine.mjs';
import { measureConversions } from './mp4-conversions.mjs';

const [starts, clipCount] = [Number(process.env.STARTS ?? 30), Number(process.env.CLIPS ?? 3)];
const hlsSamples = Number(process.env.HLS_SAMPLES ?? 100);
const limitMs = Number(process.env.PICTURE_LIMIT_MS ?? 1_000);
const target = fileURLToPath(new URL('../../docs/benchmarks-video.md', import.meta.url));
const cacheDir = resolve('.cache/clips');
const loadBefore = loadavg()[0];

const playerPage = await servePlayerPage();
const product = await startProduct({
  env: {
    CORS_ORIGINS: playerPage.origin,
    ...raisedLimits,
    RATE_LIMIT_PLATFORM_PER_MINUTE: '1000000',
    RATE_LIMIT_PLATFORM_BURST: '1000000',
    LOG_LEVEL: 'warn',
  },
});
const terminals = [];
const send = await logIn(product);

/**
 * Creates a vehicle with a connected terminal.
 *
 * @param {object} options of the terminal
 * @param {import('../../libs/terminal-simulator/dist/index.js').VideoCodec} codec of its camera
 */
async function connect(options = {}, codec = 'h264') {
  const { jt808 } = product.runtime;
  const phone = String(13_600_000_000 + terminals.length).padStart(12, '0');
  const { id: vehicleId } = await send('/vehicles', { vehicle_no: `P${phone}`, imei: phone });
  const clips = createCameraClips('bench', { cacheDir }, { main: { stamp: '', codec } });
  // The clip is encoded before anything is measured.
  await Promise.all([clips(1, 'main'), clips(1, 'sub')]);
  const terminal = new SimulatedTerminal({
    ...jt808,
    phone,
    reportIntervalMs: 0,
    clips,
    camera: { video: codec, audio: 'g711a' },
    ...options,
  });
  terminals.push(terminal);
  terminal.start();
  await terminal.waitUntilOnline(60_000);
  return { vehicleId, phone, terminal };
}

/** Measures everything, and writes the document. */
async function writeDocument() {
  const pictures = await measureFirstPictures({ product, send, connect, starts });
  const conversions = await measureConversions({ product, send, connect, clipCount });
  const hlsDelay = await measureHlsDelay({ send, connect, playerPage, samples: hlsSamples });
  const text = `# Benchmarks of video

Written by \`npm run bench -- video\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}. The product, its embedded backends, the
simulated terminals and the benchmark share ${availableParallelism()} cores; the load average before was ${loadBefore.toFixed(1)}.

## First picture after a start

The time from the request that starts the stream to the first picture that its signed URL delivers, ${starts} times each, one at a time. The
simulated camera responds at once and begins with a key frame. The aim is a median below ${limitMs.toLocaleString('en')} ms. The URL of a share link starts the stream
itself: it has no request of its own before.

| start and URL | until the camera has the command, median ms | until the response, median ms | first picture, median ms | 95 % ms | maximum ms |
|---|---|---|---|---|---|
${pictures.rows.join('\n')}

## Conversion to MP4

The time from the request of a conversion to its completed record, for clips that a camera has uploaded. The clips are H.264 or H.265 of 640x360 at
500 kbit/s with sound, one at a time, median of ${clipCount}. The floor is ffmpeg alone, which copies the same file with the same container options. A
conversion starts ffmpeg three times, to probe the clip, to copy it and to probe the result. Its priority is low: receiving from cameras
comes first.

| clip | size, MB | conversion, ms | seconds of video for each second | ffmpeg alone, ms | ratio to the floor |
|---|---|---|---|---|---|
${conversions.join('\n')}

## Delay of HLS

The time from the sending of a picture by the camera until hls.js shows it in Chromium on the same machine. It is measured ${hlsSamples} times in one
stream, from ten seconds after its start. Low-latency HLS with parts of 0.5 s, read with \`lowLatencyMode\`. The network adds its own delay.

| median ms | 95 % ms | maximum ms |
|---|---|---|
${hlsDelay}
`;
  console.log(text);
  writeFileSync(target, text);
  if (pictures.longestMedianMs > limitMs) {
    console.error(`The median of a first picture exceeds ${limitMs} ms.`);
    process.exitCode = 1;
  }
}

try {
  if (starts > 0) await writeDocument();
  else console.log(await measureHlsDelay({ send, connect, playerPage, samples: hlsSamples }));
} finally {
  playerPage.close();
  await Promise.all(terminals.map((terminal) => terminal.stop()));
  await product.stop();
}
