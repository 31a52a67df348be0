// `npm run bench -- start-up`: kills each service of a running product with SIGKILL, and measures the time until it is
// ready again. Then raises alarms while services are down, and measures the time until a webhook receiver has them.
// Writes docs/benchmarks-start-up.md, unless a limit is exceeded.
// Options: `--data FOLDER` (the data of `npm run bench -- lists --data FOLDER`; writes
// docs/benchmarks-start-up-large.md).
// Settings: ROUNDS (3), TERMINALS (0: terminals that report each second during the run), BUSY (0: processes that keep a
// core busy), READY_LIMIT_MS (3000; 10000 with data or load), DELIVERY_LIMIT_MS (15000).
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SimulatedTerminal } from '../../libs/terminal-simulator/dist/index.js';
import { startProduct } from '../local/dist/product.js';
import { cpuMsOf } from './cpu-time.mjs';
import { raisedLimits } from './limits.mjs';
import { machine } from './machine.mjs';
import { startReceiver } from './webhook-receiver.mjs';

const [rounds, busyCount] = [Number(process.env.ROUNDS ?? 3), Number(process.env.BUSY ?? 0)];
const terminalCount = Number(process.env.TERMINALS ?? 0);
const options = process.argv.slice(2).filter((option) => option !== 'start-up');
const dataDir = options.includes('--data') ? resolve(options[options.indexOf('--data') + 1]) : undefined;
const hasLoad = busyCount + terminalCount > 0 || dataDir !== undefined;
const readyLimitMs = Number(process.env.READY_LIMIT_MS ?? (hasLoad ? 10_000 : 3_000));
const deliveryLimitMs = Number(process.env.DELIVERY_LIMIT_MS ?? 15_000);
const document = dataDir === undefined ? 'benchmarks-start-up.md' : 'benchmarks-start-up-large.md';
const target = fileURLToPath(new URL(`../../docs/${document}`, import.meta.url));
/** The supervisor resets its failure count for a process that has run for this time. */
const stableAfterMs = 10_500;
const pollMs = 5;

/** Arrival times of alarms by terminal number. */
const arrivals = new Map();
const receiver = await startReceiver((notification) => {
  if (notification.notification_type === 'sos') arrivals.set(notification.imei, performance.now());
});

const product = await startProduct({
  ...(dataDir === undefined ? {} : { dataDir }),
  env: {
    ...raisedLimits,
    RATE_LIMIT_PLATFORM_PER_MINUTE: '1000000',
    RATE_LIMIT_PLATFORM_BURST: '1000000',
    ...receiver.env,
    LOG_LEVEL: 'warn',
  },
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

const isReady = (base) =>
  fetch(`${base}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
    async (response) => {
      await response.body?.cancel();
      return response.status === 200;
    },
    () => false,
  );

/** Kills a process; resolves with its id when it has exited. */
async function kill(name) {
  const pid = product.runtime.processes[name];
  process.kill(pid, 'SIGKILL');
  while (product.runtime.processes[name] === pid) await sleep(pollMs);
  return pid;
}

/** Resolves when another process of this name is ready. */
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
const formatMs = (ms) => (Number.isNaN(ms) ? '-' : Math.round(ms).toLocaleString('en'));

/** Measures the services one after another; returns the rows of the table and the slowest restart. */
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
      `| ${name} | ${formatMs(median(times))} | ${formatMs(Math.max(...times))} | ${formatMs(median(cpu))} |`,
  );
  return { rows, slowestMs: Math.max(...[...found.values()].flatMap(({ times }) => times)) };
}

/** Logs in as the demo user; returns a function that sends POST requests to the Platform API. */
async function logIn() {
  const { base_url: base, demo } = product.runtime;
  let headers = { 'content-type': 'application/json' };
  const post = async (path, body) => {
    const response = await fetch(`${base}/api${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    /** @type {any} */
    const result = await response.json();
    if (!response.ok) throw new Error(`${path}: ${response.status} ${JSON.stringify(result)}`);
    return result.data ?? result;
  };
  const { access_token: token } = await post('/auth/login', { identifier: demo.email, password: demo.password });
  headers = { ...headers, authorization: `Bearer ${token}`, 'x-api-key': demo.api_key };
  return post;
}

/** Connects terminals of new vehicles that report each second. */
async function connectTerminals(post, count) {
  const { jt808 } = product.runtime;
  // The numbers differ from those of earlier runs with the same data.
  const first = 13_000_000_000 + (Math.floor(Date.now() / 1_000) % 1_000_000) * 1_000;
  const added = [];
  for (let at = 0; at < count; at += 1) {
    const phone = String(first + at).padStart(12, '0');
    await post('/vehicles', { vehicle_no: `B${phone}`, imei: phone, timezone: 'Etc/UTC' });
    const terminal = new SimulatedTerminal({ ...jt808, phone, channels: 0, reportIntervalMs: 1_000 });
    added.push(terminal);
    terminals.push(terminal);
    terminal.start();
  }
  await Promise.all(added.map((terminal) => terminal.waitUntilOnline(60_000)));
  return added;
}

/**
 * Connects the load, and one terminal for each alarm: a second alarm of a vehicle may be folded into the first
 * notification.
 */
async function prepareAlarms() {
  const post = await logIn();
  await post('/user-webhooks', { url: receiver.url });
  const alarmed = await connectTerminals(post, outages.length * rounds + terminalCount);
  return alarmed.slice(terminalCount);
}

/** Raises an alarm while services are down; returns the time until it is delivered. */
async function measureDelivery(names, terminal) {
  await sleep(stableAfterMs);
  const pids = await Promise.all(names.map(kill));
  const raisedAt = performance.now();
  terminal.raiseAlarm('emergency');
  while (!arrivals.has(terminal.phone)) {
    if (performance.now() - raisedAt > 120_000) throw new Error(`an alarm during a restart of ${names} never arrived`);
    await sleep(pollMs);
  }
  await Promise.all(names.map((name, at) => untilReady(name, pids[at])));
  return arrivals.get(terminal.phone) - raisedAt;
}

async function measureDeliveries(alarmed) {
  const rows = [];
  let slowestMs = 0;
  let next = 0;
  for (const names of outages) {
    const times = [];
    for (let round = 0; round < rounds; round += 1) times.push(await measureDelivery(names, alarmed[next++]));
    slowestMs = Math.max(slowestMs, ...times);
    rows.push(`| ${names.join(', ')} | ${formatMs(median(times))} | ${formatMs(Math.max(...times))} |`);
  }
  return { rows, slowestMs };
}

try {
  for (let at = 0; at < busyCount; at += 1)
    busy.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  const loadBefore = loadavg()[0];
  const alarmed = await prepareAlarms();
  const restarts = await measureRestarts();
  const deliveries = await measureDeliveries(alarmed);
  const settings = [
    busyCount > 0 ? `BUSY=${busyCount} ` : '',
    terminalCount > 0 ? `TERMINALS=${terminalCount} ` : '',
    'npm run bench -- start-up',
    dataDir === undefined ? '' : ' --data FOLDER',
  ];
  const loads = [
    dataDir === undefined ? [] : ['with the data of `npm run bench -- lists --data FOLDER`'],
    terminalCount > 0 ? [`while ${terminalCount} terminals report each second`] : [],
    busyCount > 0 ? [`while ${busyCount} processes keep a core busy each`] : [],
  ].flat();
  const conditions = loads.length === 0 ? 'without further load' : loads.join(', ');
  const command = settings.join('');
  const text = `# Benchmarks of start-up${dataDir === undefined ? '' : ' with large accounts'}

Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}, ${conditions}. The product, its embedded backends and the
benchmark share ${availableParallelism()} cores; the load average of the machine before was ${loadBefore.toFixed(1)}.

## Ready after \`kill -9\`

From the signal to the first 200 of \`/readyz\`, ${rounds} times each. The CPU time is that of the new process until then.

| service | median ms | maximum ms | CPU ms |
|---|---|---|---|
${restarts.rows.join('\n')}

## Delivery of an alarm during the outage

From an SOS that a terminal sends immediately after the \`kill -9\` to its arrival at a webhook receiver over HTTPS, ${rounds} times each.

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
    console.error(`FAILED: ${what} took ${formatMs(slowestMs)} ms; the limit is ${formatMs(limitMs)} ms.`);
  if (failures.length > 0) process.exitCode = 1;
  else writeFileSync(target, text);
} finally {
  for (const child of busy) child.kill();
  await Promise.all(terminals.map((terminal) => terminal.stop()));
  await product.stop();
  receiver.stop();
}
