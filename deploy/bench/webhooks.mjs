// Measures webhook deliveries per second: `node deploy/bench/webhooks.mjs [DELIVERIES] [WEBHOOKS]`. One dispatcher runs
// as a separate process with its own backends. The receivers are HTTPS servers in this process and share the cores with
// it. Prints the deliveries per second, and the time of each from being raised.
// `node deploy/bench/webhooks.mjs DELIVERIES WEBHOOKS backlog`: the receivers are unavailable while the deliveries are
// raised, and available afterwards. Prints how fast the backlog drains.
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ensureStreams, headers, notificationSubject, openBus } from '../../libs/bus/dist/index.js';
import { createLogger, Encryption } from '../../libs/service-kit/dist/index.js';
import { openDatabase, webhookSecretPurpose } from '../../libs/storage/dist/index.js';
import { createProgress } from '../local/dist/progress.js';
import { startTestBackends } from '../local/dist/test-backends.js';
import { startReceiver } from './webhook-receiver.mjs';

const deliveries = Number(process.argv[2] ?? 2_000);
const webhookCount = Number(process.argv[3] ?? 10);
const isBacklog = process.argv[4] === 'backlog';
/** Excludes the last deliveries of a backlog: those attempted during the outage wait for their next retry. */
const drainedPart = 0.99;
const root = fileURLToPath(new URL('../..', import.meta.url));
const encryptionKey = 'only-for-measurements-0123456789abcdef';
const waitLimitMs = 600_000;
const atOnce = 100;

const backends = await startTestBackends(createProgress((text) => process.stderr.write(text)));
const { NATS_URL, REDIS_URL } = backends.env;
const mongo = new URL(backends.env.MONGODB_URL);
mongo.pathname = '/bench_webhooks';

/** Arrival times of deliveries by notification number. */
const arrivedAt = new Map();
const receiver = await startReceiver((notification) => arrivedAt.set(notification.id, performance.now()));

const log = createLogger('bench', 'warn');
const bus = await openBus(NATS_URL, { name: 'bench', log });
await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
const database = openDatabase(mongo.href, { appName: 'bench' });
const encryption = new Encryption(encryptionKey);
/** @type {any} */
const webhooks = database.collection('webhooks');
for (let id = 1; id <= webhookCount; id += 1)
  await webhooks.insertOne({
    _id: id,
    accountId: 1,
    userId: id,
    createdAt: new Date(),
    updatedAt: new Date(),
    version: 1,
    url: `${receiver.url}/${id}`,
    name: null,
    enabled: true,
    notificationTypes: [],
    vehicleIds: [],
    headers: [],
    sealedSecret: encryption.seal('only-for-measurements', webhookSecretPurpose(id)),
    secretHint: 'ents',
    sealedOldSecret: null,
    graceUntil: null,
    healthEpoch: 0,
  });

const child = spawn(process.execPath, [join(root, 'services/webhook-dispatcher/dist/bundle/main.js')], {
  env: {
    ...process.env,
    NATS_URL,
    REDIS_URL,
    MONGODB_URL: mongo.href,
    ADMIN_PORT: '0',
    LOG_LEVEL: 'warn',
    ENCRYPTION_KEY: encryptionKey,
    ...receiver.env,
  },
  stdio: ['ignore', 'inherit', 'inherit'],
});

const raisedAt = new Map();
async function raise(id) {
  const notification = {
    id,
    title: 'SOS',
    description: 'The driver pressed the emergency button.',
    notification_type: 'sos',
    imei: String(10_000_000_000 + (id % 1_000)),
    timestamp: Date.now(),
    server_timestamp: Date.now(),
    location: { latitude: 22.5, longitude: 114 },
    vehicle_id: 1 + (id % 1_000),
    vehicle_no: `B${id % 1_000}`,
    severity: 'critical',
    attributes: {},
    backfilled: false,
  };
  const raised = { accountId: 1, ownerUserId: 1 + (id % webhookCount), wantedByOwner: true, notification };
  raisedAt.set(id, performance.now());
  const head = headers();
  head.set('Nats-Msg-Id', `bench-${id}`);
  await bus.js.publish(notificationSubject(1, notification.imei), JSON.stringify(raised), { headers: head });
}

/** Raises `count` notifications, a hundred at a time: the broker stores them faster than they are delivered. */
async function raiseMany(after, count) {
  for (let at = 0; at < count; at += atOnce) {
    const size = Math.min(atOnce, count - at);
    await Promise.all(Array.from({ length: size }, (_unused, index) => raise(after + at + index + 1)));
  }
}

async function arrived(count) {
  const deadline = performance.now() + waitLimitMs;
  while (arrivedAt.size < count) {
    if (performance.now() > deadline) throw new Error(`${arrivedAt.size} of ${count} arrived in time`);
    await sleep(5);
  }
}

const percentile = (values, part) => values.toSorted((a, b) => a - b)[Math.ceil(values.length * part) - 1] ?? 0;

/** Returns the CPU seconds of this process's children by program name (Linux). */
function cpuSeconds() {
  const seconds = {};
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, name, rest] = /\((.*)\) (.*)$/.exec(readFileSync(`/proc/${pid}/stat`, 'latin1').trimEnd()) ?? [];
      const fields = (rest ?? '').split(' ');
      // Fields of proc(5): the parent is 4, user and system time are 14 and 15, in hundredths of a second.
      const program = Number(pid) === child.pid ? 'webhook-dispatcher' : name;
      if (Number(fields[1]) === process.pid)
        seconds[program] = (seconds[program] ?? 0) + (Number(fields[11]) + Number(fields[12])) / 100;
    } catch (error) {
      // The process has exited since the folder was read.
      if (error.code !== 'ENOENT' && error.code !== 'ESRCH') throw error;
    }
  }
  return seconds;
}

/**
 * Raises deliveries while the receivers are unavailable, and measures from the first to the last arrival afterwards.
 */
async function measureBacklog(warm) {
  receiver.isAway = true;
  await raiseMany(warm, deliveries);
  const due = database.collection('webhook_due');
  const deadline = performance.now() + waitLimitMs;
  while ((await due.countDocuments()) < deliveries) {
    if (performance.now() > deadline) throw new Error('the deliveries were not deferred in time');
    await sleep(100);
  }
  receiver.isAway = false;
  const backAt = performance.now();
  await arrived(warm + 1);
  const firstAt = performance.now();
  const before = cpuSeconds();
  await arrived(warm + Math.ceil(deliveries * drainedPart));
  const drainedAt = performance.now();
  const after = cpuSeconds();
  await arrived(warm + deliveries);
  const seconds = (from, to) => ((to - from) / 1_000).toFixed(1);
  const rate = Math.round((deliveries * drainedPart) / ((drainedAt - firstAt) / 1_000));
  console.log('| webhooks | backlog | first after s | 99 % drained in s | deliveries/s | all after s |');
  console.log('|---|---|---|---|---|---|');
  const row = [seconds(backAt, firstAt), seconds(firstAt, drainedAt), rate, seconds(backAt, performance.now())];
  console.log(`| ${[webhookCount, deliveries, ...row].join(' | ')} |`);
  const used = Object.entries(after).map(([name, total]) => `${name} ${(total - (before[name] ?? 0)).toFixed(1)}`);
  console.log(`CPU seconds while it drained: ${used.join(', ')}; this process has the receivers.`);
}

async function measureSpeed(warm) {
  const startedAt = performance.now();
  await raiseMany(warm, deliveries);
  await arrived(warm + deliveries);
  const seconds = (performance.now() - startedAt) / 1_000;

  const quiet = 50;
  const latencies = [];
  for (let at = 1; at <= quiet; at += 1) {
    const id = warm + deliveries + at;
    await raise(id);
    await arrived(id);
    latencies.push(arrivedAt.get(id) - raisedAt.get(id));
  }
  console.log('| webhooks | deliveries | deliveries/s | one at a time: p50 ms | p99 ms |');
  console.log('|---|---|---|---|---|');
  const figures = [deliveries / seconds, percentile(latencies, 0.5), percentile(latencies, 0.99)].map(Math.round);
  console.log(`| ${[webhookCount, deliveries, ...figures].join(' | ')} |`);
}

try {
  // Warms up connections, code and caches.
  const warm = 100;
  await Promise.all(Array.from({ length: warm }, (_unused, at) => raise(at + 1)));
  await arrived(warm);

  if (isBacklog) await measureBacklog(warm);
  else await measureSpeed(warm);
} finally {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
  await bus.close();
  await database.close();
  receiver.stop();
  await backends.stop();
}
