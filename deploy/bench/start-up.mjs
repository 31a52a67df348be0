// `npm run bench -- start-up`: kills each service of a running product with SIGKILL, and measures the time until it is ready again; then raises alarms while
// services are down, and measures the time until a webhook receiver has them. Writes docs/benchmarks-start-up.md, unless a limit is exceeded.
// Settings: ROUNDS (3), BUSY (0: processes that keep a core busy during the measurement), READY_LIMIT_MS (3000), DELIVERY_LIMIT_MS (15000).
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { machine } from './machine.mjs';

const [rounds, busyCount] = [Number(process.env.ROUNDS ?? 3), Number(process.env.BUSY ?? 0)];
const readyLimitMs = Number(process.env.READY_LIMIT_MS ?? (busyCount === 0 ? 3_000 : 10_000));
const deliveryLimitMs = Number(process.env.DELIVERY_LIMIT_MS ?? 15_000);
const target = fileURLToPath(new URL('../../docs/benchmarks-start-up.md', import.meta.url));
/** The supervisor forgets earlier failures of a process that has run for this time. */
const stableAfterMs = 10_500;
const pollMs = 5;
/** Linux counts the CPU time of processes in these. */
const ticksPerSecond = 100;

const dir = mkdtempSync(join(tmpdir(), 'fleet-bench-'));
const [certFile, keyFile] = [join(dir, 'cert.pem'), join(dir, 'key.pem')];
spawnSync(
  'openssl',
  `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ${keyFile} -out ${certFile} -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1`.split(
    ' ',
  ),
  { stdio: 'ignore' },
);

/** Times at which alarms arrived, by the terminal's number. */
const arrivals = new Map();
const receiver = createServer({ cert: readFileSync(certFile), key: readFileSync(keyFile) }, (incoming, response) => {
  const chunks = [];
  incoming.on('data', (chunk) => chunks.push(chunk));
  incoming.on('end', () => {
    response.end();
    const { notification } = JSON.parse(JSON.parse(Buffer.concat(chunks).toString()).body);
    if (notification.notification_type === 'sos') arrivals.set(notification.imei, performance.now());
  });
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');

const product = await startProduct({
  env: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', WEBHOOK_CA_FILE: certFile, LOG_LEVEL: 'warn' },
});
const busy = [];
const terminals = [];
const outages = [
  ['platform-telemetry'],
  ['platform-api'],
  ['platform-api', 'platform-telemetry'],
  ['webhook-dispatcher'],
  ['platform-api', 'platform-telemetry', 'webhook-dispatcher'],
];

/** Returns the CPU time of a process in milliseconds; NaN where the system does not say. */
function cpuMsOf(pid) {
  try {
    const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
    const [user, system] = fields.split(' ').slice(11, 13).map(Number);
    return ((user + system) * 1_000) / ticksPerSecond;
  } catch {
    return Number.NaN;
  }
}

const isReady = (base) =>
  fetch(`${base}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.status === 200;
    },
    () => false,
  );

/** Kills a process; resolves with its id once it has ended. */
async function kill(name) {
  const pid = product.runtime.processes[name];
  process.kill(pid, 'SIGKILL');
  while (product.runtime.processes[name] === pid) await sleep(pollMs);
  return pid;
}

/** Resolves once another process of this name is ready. */
async function untilReady(name, formerPid) {
  const limit = performance.now() + 120_000;
  for (;;) {
    const pid = product.runtime.processes[name];
    if (pid !== undefined && pid !== formerPid && (await isReady(product.runtime.health[name]))) return cpuMsOf(pid);
    if (performance.now() > limit) throw new Error(`${name} is not ready again`);
    await sleep(pollMs);
  }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const shown = (ms) => (Number.isNaN(ms) ? '-' : Math.round(ms).toLocaleString('en'));

/** Measures each service in turn; returns the rows of the table and the slowest restart. */
async function measureRestarts() {
  const names = Object.keys(product.runtime.health);
  const found = new Map(names.map((name) => [name, { times: [], cpu: [] }]));
  const readyAt = new Map();
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) {
      await sleep(Math.max(0, (readyAt.get(name) ?? 0) + stableAfterMs - performance.now()));
      const startedAt = performance.now();
      found.get(name).cpu.push(await untilReady(name, await kill(name)));
      found.get(name).times.push(performance.now() - startedAt);
      readyAt.set(name, performance.now());
    }
  }
  const rows = [...found].map(
    ([name, { times, cpu }]) =>
      `| ${name} | ${shown(median(times))} | ${shown(Math.max(...times))} | ${shown(median(cpu))} |`,
  );
  return { rows, slowestMs: Math.max(...[...found.values()].flatMap(({ times }) => times)) };
}

/** Connects a terminal for each alarm: a second alarm of a vehicle may become a part of the first one's notification. */
async function prepareAlarms() {
  const { base_url: base, demo, jt808 } = product.runtime;
  let headers = { 'content-type': 'application/json' };
  const post = async (path, body) => {
    const response = await fetch(`${base}/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer.data ?? answer;
  };
  const { access_token: token } = await post('/auth/login', { identifier: demo.email, password: demo.password });
  headers = { ...headers, authorization: `Bearer ${token}`, 'x-api-key': demo.api_key };
  await post('/user-webhooks', { url: `https://127.0.0.1:${receiver.address().port}/hook` });
  for (let at = 0; at < outages.length * rounds; at += 1) {
    const phone = String(13_700_000_000 + at).padStart(12, '0');
    await post('/vehicles', { vehicle_no: `B${at}`, imei: phone, timezone: 'Etc/UTC' });
    const terminal = new SimulatedTerminal({ ...jt808, phone, channels: 0, reportIntervalMs: 1_000 });
    terminals.push(terminal);
    terminal.start();
  }
  await Promise.all(terminals.map((terminal) => terminal.waitUntilOnline(60_000)));
}

/** Raises an alarm while services are down; returns the time until it is delivered. */
async function measureDelivery(names, terminal) {
  await sleep(stableAfterMs);
  const pids = await Promise.all(names.map(kill));
  const raisedAt = performance.now();
  terminal.raiseAlarm('emergency');
  while (!arrivals.has(terminal.phone)) {
    if (performance.now() - raisedAt > 120_000) throw new Error(`an alarm during a restart of ${names} never came`);
    await sleep(pollMs);
  }
  await Promise.all(names.map((name, at) => untilReady(name, pids[at])));
  return arrivals.get(terminal.phone) - raisedAt;
}

async function measureDeliveries() {
  const rows = [];
  let slowestMs = 0;
  let next = 0;
  for (const names of outages) {
    const times = [];
    for (let round = 0; round < rounds; round += 1) times.push(await measureDelivery(names, terminals[next++]));
    slowestMs = Math.max(slowestMs, ...times);
    rows.push(`| ${names.join(', ')} | ${shown(median(times))} | ${shown(Math.max(...times))} |`);
  }
  return { rows, slowestMs };
}

try {
  for (let at = 0; at < busyCount; at += 1)
    busy.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  const loadBefore = loadavg()[0];
  await prepareAlarms();
  const restarts = await measureRestarts();
  const deliveries = await measureDeliveries();
  const conditions =
    busyCount === 0 ? 'with no other load of its own' : `while ${busyCount} processes keep a core busy each`;
  const command = busyCount === 0 ? 'npm run bench -- start-up' : `BUSY=${busyCount} npm run bench -- start-up`;
  const text = `# Benchmarks of the start-up

Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}, ${conditions}. ${availableParallelism()} cores are shared by the product,
its embedded backends and the benchmark; the load average of the machine before was ${loadBefore.toFixed(1)}.

## Ready after \`kill -9\`

From the signal to the first 200 of \`/readyz\`, ${rounds} times each. The CPU time is that of the new process until then.

| service | median ms | maximum ms | CPU ms |
|---|---|---|---|
${restarts.rows.join('\n')}

## Delivery of an alarm that is raised during the outage

From an SOS that a terminal sends directly after the \`kill -9\` to its arrival at a webhook receiver over HTTPS, ${rounds} times each.

| killed | median ms | maximum ms |
|---|---|---|
${deliveries.rows.join('\n')}
`;
  console.log(text);
  const failures = [
    [restarts.slowestMs, readyLimitMs, 'a restart'],
    [deliveries.slowestMs, deliveryLimitMs, 'the delivery of an alarm'],
  ].filter(([slowestMs, limitMs]) => !(slowestMs <= limitMs));
  for (const [slowestMs, limitMs, what] of failures)
    console.error(`FAILED: ${what} took ${shown(slowestMs)} ms; the limit is ${shown(limitMs)} ms.`);
  if (failures.length > 0) process.exitCode = 1;
  else writeFileSync(target, text);
} finally {
  for (const child of busy) child.kill();
  await Promise.all(terminals.map((terminal) => terminal.stop()));
  await product.stop();
  receiver.closeAllConnections();
  receiver.close();
  rmSync(dir, { recursive: true, force: true });
}
