// npm run smoke: tests one camera end to end against the product that npm start has started. Prints the result of each
// step.
import './node-version.mjs';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const dataDir = resolve(root, process.env.DATA_DIR || '.data');
const flvBytes = 100_000;

/**
 * @param {string} sentence
 * @returns {never}
 */
function fail(sentence) {
  console.error(`FAILED: ${sentence}`);
  process.exit(1);
}

function readRuntime() {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'runtime.json'), 'utf8'));
  } catch {
    return fail(`There is no ${join(dataDir, 'runtime.json')}: start the product first, with npm start.`);
  }
}

const runtime = readRuntime();
const headers = { 'x-api-key': runtime.demo.api_key };
const get = (path) =>
  fetch(`${runtime.base_url}/api/v1${path}`, { headers, signal: AbortSignal.timeout(100_000) }).catch((error) =>
    fail(`GET ${path}: ${error.cause?.message ?? error.message}`),
  );

async function expectOk(path) {
  const response = await get(path);
  const body = await response.text();
  console.log(`GET ${path}: ${response.status} ${body.slice(0, 200)}`);
  if (response.status !== 200) fail(`${path} responded with ${response.status}.`);
}

/** Reads until the stream has sent enough data to contain more than its header. */
async function expectFlv(path) {
  const response = await get(path);
  if (response.status !== 200) fail(`${path} responded with ${response.status} ${await response.text()}`);
  const chunks = [];
  let size = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= flvBytes) break;
  }
  const stream = Buffer.concat(chunks);
  if (stream.subarray(0, 3).toString('latin1') !== 'FLV') fail(`${path} is not FLV.`);
  if (size < flvBytes) fail(`${path} ended after ${size} bytes.`);
  console.log(`GET ${path}: FLV, ${size} bytes read`);
}

const imei = runtime.simulated_terminals[0]?.imei ?? fail('No simulated terminal runs: start without --no-simulator.');
await expectOk('/health');
await expectOk(`/health/device?imei=${imei}`);
await expectOk(`/wakeup?imei=${imei}`);
await expectOk(`/realtime/start-stream?imei=${imei}&channel=1`);
await expectFlv(`/realtime/stream.flv?imei=${imei}&channel=1`);
await expectOk(`/realtime/control-stream?imei=${imei}&channel=1&ctrl_instruction=0`);
console.log('Everything responds.');
process.exit(0);
