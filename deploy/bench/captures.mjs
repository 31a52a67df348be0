// `npm run bench -- captures`: requests captures of many terminals as fast as they complete, and measures captures per
// minute and the time until the files are there. Writes docs/benchmarks-captures.md, unless a capture fails.
// Settings: TERMINALS (20), SECONDS (30: length of each scenario).
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createCameraClips, SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { raisedLimits } from './limits.mjs';
import { logIn } from './log-in.mjs';
import { machine } from './machine.mjs';
import { formatInteger, percentile } from './statistics.mjs';

const terminalCount = Number(process.env.TERMINALS ?? 20);
const seconds = Number(process.env.SECONDS ?? 30);
const target = fileURLToPath(new URL('../../docs/benchmarks-captures.md', import.meta.url));
const cacheDir = resolve('.cache/clips');
const loadBefore = loadavg()[0];
const refusal = { kind: 'refusing', result: 3 };
const shootCommandId = 0x8801;

const product = await startProduct({
  env: {
    ...raisedLimits,
    RATE_LIMIT_PLATFORM_PER_MINUTE: '1000000',
    RATE_LIMIT_PLATFORM_BURST: '1000000',
    RATE_LIMIT_CAPTURE_PER_MINUTE: '1000000',
    LOG_LEVEL: 'warn',
  },
});
const terminals = [];

/** Connects the terminals of new vehicles. */
async function connectTerminals(post) {
  const { jt808 } = product.runtime;
  const vehicles = [];
  for (let at = 0; at < terminalCount; at += 1) {
    const phone = String(13_700_000_000 + at).padStart(12, '0');
    const { id } = await post('/vehicles', { vehicle_no: `P${phone}`, imei: phone });
    // All terminals have the same clip, so that encoding it is not measured.
    const clips = createCameraClips('bench', { cacheDir }, { main: { stamp: '' } });
    const terminal = new SimulatedTerminal({ ...jt808, phone, channels: 1, reportIntervalMs: 0, clips });
    terminals.push(terminal);
    terminal.start();
    vehicles.push({ id, phone, terminal });
  }
  await Promise.all(terminals.map((terminal) => terminal.waitUntilOnline(60_000)));
  return vehicles;
}

const captureByPlatform =
  (post) =>
  ({ id }) =>
    post(`/vehicles/${id}/dashcam-media-capture?wake=false&wait=60`, {});

/** Records a clip of one second over the video service. */
async function captureClip({ phone }) {
  const { video_url: url, demo } = product.runtime;
  const response = await fetch(`${url}/${phone}/media-capture`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': demo.api_key },
    body: JSON.stringify({ kind: 'clip', duration_seconds: 1, wake: false, wait: 60 }),
  });
  const result = await response.json();
  if (!response.ok) throw new Error(`media-capture: ${response.status} ${JSON.stringify(result)}`);
  return result;
}

// Each vehicle requests its next capture when the previous one is complete. Returns a row of the table.
async function measure(name, vehicles, capture) {
  // The first captures load code and start programs.
  await Promise.all(vehicles.map(capture));
  const times = [];
  const startedAt = performance.now();
  await Promise.all(
    vehicles.map(async (vehicle) => {
      while (performance.now() - startedAt < seconds * 1_000) {
        const requestedAt = performance.now();
        const { status, media } = await capture(vehicle);
        if (status !== 'completed' || media.length !== 1) throw new Error(`${name}: a capture is ${status}`);
        times.push(performance.now() - requestedAt);
      }
    }),
  );
  const perMinute = Math.round((times.length * 60_000) / (performance.now() - startedAt));
  const cells = [
    perMinute.toLocaleString('en'),
    ...[0.5, 0.95, 1].map((share) => formatInteger(percentile(times, share))),
  ];
  return `| ${name} | ${vehicles.length} | ${cells.join(' | ')} |`;
}

try {
  const post = await logIn(product);
  const vehicles = await connectTerminals(post);
  const capture = captureByPlatform(post);
  const rows = [
    await measure('picture of the terminal, one at a time', vehicles.slice(0, 1), capture),
    await measure('picture of the terminal', vehicles, capture),
  ];
  for (const { terminal } of vehicles) terminal.setBehaviour(refusal, shootCommandId);
  rows.push(await measure('frame of live video after a refusal', vehicles.slice(0, 4), capture));
  rows.push(await measure('clip of one second', vehicles.slice(0, 4), captureClip));
  const text = `# Benchmarks of captures

Written by \`npm run bench -- captures\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}. The product, its embedded backends, the
simulated terminals and the benchmark share ${availableParallelism()} cores; the load average before was ${loadBefore.toFixed(1)}. Each vehicle requests its next capture when the previous one is complete,
for ${seconds} seconds. The times are from the request to the response with the files and their thumbnails.

| capture | vehicles | captures per minute | median ms | 95 % ms | maximum ms |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
  console.log(text);
  writeFileSync(target, text);
} finally {
  await Promise.all(terminals.map((terminal) => terminal.stop()));
  await product.stop();
}
