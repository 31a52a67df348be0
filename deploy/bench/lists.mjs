// `npm run bench -- lists`: measures every list of the Platform API with two large accounts: latency, and CPU time and
// memory of the database. Then measures writes and reads of the database alone. Writes docs/benchmarks-lists.md, or
// docs/benchmarks-lists-large.md. Fails if the p95 or the CPU time of a list is above the limit.
// Options: `--small` (a twentieth of the data), `--large` (20,000 vehicles), `--only REGEXP` (operation ids), `--data
// FOLDER` (stores the data there and reuses it). MONGODB_URL selects another server, whose CPU time is unknown then.
// Settings: CALLS (20), P95_LIMIT_MS (150; 400 with --large), CPU_LIMIT_MS (50; none with --large).
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startProduct } from '../local/dist/product.js';
import { raisedLimits } from './limits.mjs';
import { copyId, createTemplates, fillAccount, raiseCounters, readTemplates } from './lists-data.mjs';
import { measureWrites } from './lists-writes.mjs';
import { machine } from './machine.mjs';

const { MongoClient } = createRequire(new URL('../../libs/storage/package.json', import.meta.url))('mongodb');
const root = fileURLToPath(new URL('../..', import.meta.url));
const dayMs = 86_400_000;
const options = process.argv.slice(2).filter((option) => option !== 'lists');
const [loadBefore] = loadavg();
const isSmall = options.includes('--small');
const isLarge = options.includes('--large');
const target = join(root, 'docs', isLarge ? 'benchmarks-lists-large.md' : 'benchmarks-lists.md');
const dataDir = options.includes('--data') ? resolve(options[options.indexOf('--data') + 1]) : undefined;
const only = new RegExp(options.includes('--only') ? options[options.indexOf('--only') + 1] : '');
const calls = Number(process.env.CALLS ?? 20);
const p95LimitMs = Number(process.env.P95_LIMIT_MS ?? (isLarge ? 400 : 150));
/**
 * Forms that read a month of one vehicle, about 36,000 points: reading the points dominates their time, not the query.
 */
const monthForm = '30 days';
const monthLimitMs = 400;
/** With 20,000 vehicles only the latency is limited. */
const cpuLimitMs = Number(process.env.CPU_LIMIT_MS ?? (isLarge ? Number.POSITIVE_INFINITY : 50));
const share = isSmall ? 0.05 : 1;
const sized = (count) => Math.max(10, Math.round(count * share));
const sizes = {
  vehicles: isLarge ? 20_000 : sized(2_000),
  notifications: sized(100_000),
  auditEntries: sized(50_000),
  drivers: sized(5_000),
  geofences: sized(2_000),
  groups: sized(100),
  deliveries: sized(10_000),
  media: sized(2_000),
  others: sized(1_000),
  historyVehicles: sized(50),
  historyDays: isSmall ? 5 : 30,
};
const nowMs = Date.now();
const secondAccount = { accountId: 900_000, userId: 900_000, offset: 500_000, webhookId: 900_000 };

const product = await startProduct({
  ...(dataDir === undefined ? {} : { dataDir }),
  env: {
    ...raisedLimits,
    RATE_LIMIT_PLATFORM_PER_MINUTE: '1000000',
    RATE_LIMIT_PLATFORM_BURST: '1000000',
    RATE_LIMIT_EXPENSIVE_PER_MINUTE: '1000000',
    RATE_LIMIT_EXPENSIVE_BURST: '1000000',
    LOG_LEVEL: 'warn',
  },
});
const { platform_api: platform, demo, backends, processes } = product.runtime;
const databasePid = Object.entries(processes).find(([name]) => /mongo|ferret/.test(name))?.[1];
const client = await new MongoClient(backends.mongodb_url).connect();
const db = client.db();

/** Returns the CPU milliseconds used by the database process; null if this benchmark did not start it. */
function databaseCpuMs() {
  if (databasePid === undefined) return null;
  const fields = readFileSync(`/proc/${databasePid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const databaseMib = () =>
  databasePid === undefined
    ? null
    : Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${databasePid}/status`, 'utf8'))[1]) / 1024);

/** Returns a function that sends requests as a user. */
async function logIn(identifier) {
  const headers = { 'content-type': 'application/json' };
  const send = async (method, path, body) => {
    const response = await fetch(`${platform.url}${path}`, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok)
      throw Object.assign(new Error(`${path}: ${response.status} ${text}`), { status: response.status });
    return text === '' ? {} : JSON.parse(text);
  };
  const { data, access_token: token = data.access_token } = await send('POST', '/api/auth/login', {
    identifier,
    password: demo.password,
  });
  Object.assign(headers, { authorization: `Bearer ${token}`, 'x-api-key': demo.api_key });
  return send;
}

const emailOf = (role) => `${role}@fleet.example`;

/** Copies the demo user with another role. */
async function copyUser(role, id) {
  const owner = await db.collection('users').findOne({ email: demo.email });
  const email = emailOf(role);
  await db.collection('users').insertOne({ ...owner, _id: id, email, role });
  await db.collection('unique_values').insertOne({ _id: `users.email:${email}`, recordId: id, takenAt: new Date() });
}

const guestId = copyId(0, 0);
const staffId = copyId(0, 1);

/** Creates the data, unless the data folder contains it. Returns the callers and ids. */
async function fill() {
  const { _id: userId, accountId } = await db.collection('users').findOne({ email: demo.email });
  const webhook = () => db.collection('webhooks').findOne({ accountId });
  if ((await db.collection('users').findOne({ _id: staffId })) === null) await fillAll(userId, accountId, webhook);
  return {
    userId,
    asOwner: await logIn(demo.email),
    asGuest: await logIn(emailOf('viewer')),
    asStaff: await logIn(emailOf('superadmin')),
    webhookId: (await webhook())._id,
  };
}

async function fillAll(userId, accountId, webhook) {
  const asOwner = await logIn(demo.email);
  await createTemplates(async (method, path, body) => {
    const response = await asOwner(method, path, body);
    return response.data ?? response;
  });
  const templates = await readTemplates(db);
  await raiseCounters(db);
  await fillAccount(db, { accountId, userId, offset: 0, webhookId: (await webhook())._id, sizes, templates, nowMs });
  await fillAccount(db, { ...secondAccount, sizes, templates, nowMs });
  const customer = await db.collection('accounts').findOne({ _id: accountId });
  await db.collection('accounts').insertMany(
    Array.from({ length: 200 }, (_none, index) => ({
      ...customer,
      _id: copyId(0, index),
      name: `Customer ${index}`,
      dealerAccountId: accountId,
    })),
  );
  // A guest: a viewer with access to some vehicles of the other account in addition to its own.
  await copyUser('viewer', guestId);
  await db.collection('shares').insertMany(
    Array.from({ length: 20 }, (_none, index) => {
      const shared = copyId(secondAccount.offset, index);
      const ids = { _id: shared, accountId: secondAccount.accountId, secondaryUserId: guestId, vehicleId: shared };
      const rest = { permissions: ['view', 'notifications'], expiresAt: null, sharedBy: secondAccount.userId };
      const times = { createdAt: new Date(), updatedAt: new Date(), version: 1 };
      return { ...ids, pair: `${guestId}:${shared}`, ...rest, ...times };
    }),
  );
  await copyUser('superadmin', staffId);
}

const isoBefore = (days) => new Date(nowMs - days * dayMs).toISOString();
const recordDate = (date) => `${date.getUTCDate()}/${date.getUTCMonth() + 1}/${date.getUTCFullYear()}`;
const vehicleId = copyId(0, 0);

/** Returns the value of a path parameter; `listSharedVehicles` takes the id of the guest. */
const pathValues = ({ operationId, path }, { webhookId }) => {
  if (operationId === 'listSharedVehicles') return copyId(0, 0);
  if (path.includes('user-webhooks')) return webhookId;
  return path.includes('vehicle-groups') ? copyId(0, 0) : vehicleId;
};

/** Filter values by parameter name; other parameters use the first value of their schema's enum. */
const filterValues = {
  query: '12',
  from: isoBefore(7),
  to: isoBefore(1),
  type: 'sos',
  action: 'auth.login',
  vehicle_id: String(vehicleId),
  group_id: String(copyId(0, 3)),
  driver_id: String(copyId(0, 7)),
  imei: '100000000007',
  bbox: '22,113,23,115',
  record_date: recordDate(new Date(nowMs - 2 * dayMs)),
  channel_id: '1',
  active: 'true',
};
const ownFilterValues = {
  listAuditLog: { user_id: undefined },
  listTollGates: {
    state: 'California',
    latitude: undefined,
    longitude: undefined,
    radius_km: undefined,
    route_id: undefined,
  },
  listDeliveries: { type: 'sos' },
  listGeofences: { type: 'circle' },
  listCommands: { type: 'text' },
};
const notLists = new Set(['geocode', 'suggestAddresses', 'openShareLink']);

/** Returns all lists of the API document with their forms: names and queries. */
function lists({ userId }) {
  const document = JSON.parse(readFileSync(join(root, 'services', 'platform-api', 'openapi.json'), 'utf8'));
  const found = [];
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { operationId, parameters = [] }] of Object.entries(methods)) {
      const query = parameters.filter((parameter) => parameter.in === 'query');
      const isList = query.some(({ name }) => name === 'limit') || operationId === 'listVehicleTrips';
      const isPosted = path.endsWith('/list');
      if (notLists.has(operationId) || !((method === 'get' && isList) || isPosted)) continue;
      const forms = [['first page', {}]];
      if (query.some(({ name }) => name === 'offset') || isPosted) forms.push(['last page', { isLast: true }]);
      for (const { name, schema } of query) {
        if (['limit', 'offset', 'page', 'to', 'simplify_m', 'format'].includes(name)) continue;
        const words = schema.enum?.filter((word) => word !== '');
        if (name === 'sort') {
          for (const sort of words.filter((word) => !word.startsWith('-'))) forms.push([`sort=${sort}`, { sort }]);
          continue;
        }
        const own = ownFilterValues[operationId] ?? {};
        const value =
          name in own ? own[name] : name === 'user_id' ? String(userId) : (filterValues[name] ?? words?.[0]);
        if (value === undefined) continue;
        const filter = name === 'from' ? { from: filterValues.from, to: filterValues.to } : { [name]: value };
        forms.push([Object.keys(filter).join(' and '), filter]);
      }
      if (operationId === 'listTollGates') forms.push(['around a position', { latitude: 22.5, longitude: 114 }]);
      if (operationId === 'listVehicleTrips' || operationId === 'listVehicleLocations')
        forms.push([monthForm, { from: isoBefore(30), to: isoBefore(0) }]);
      if (operationId === 'listNotifications')
        forms.push(
          ['type and last page', { type: 'sos', isLast: true }],
          [
            'types, severity, from and to',
            {
              type: 'sos,overspeed',
              severity: 'critical',
              from: filterValues.from,
              to: filterValues.to,
            },
          ],
        );
      found.push({ operationId, path, method, forms });
    }
  return found.filter(({ operationId }) => only.test(operationId));
}

const quantile = (times, part) => times.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(times.length * part) - 1)];

async function measureForm(send, list, query, context) {
  const path = list.path.replace(/\{\w+\}/, String(pathValues(list, context)));
  const { isLast, ...given } = query;
  const call = (paging) =>
    list.method === 'post'
      ? send('POST', path, { ...given, ...paging })
      : send('GET', `${path}?${new URLSearchParams({ ...given, ...paging })}`);
  let paging = {};
  const first = await call(paging);
  const total = first.meta?.pagination?.total;
  if (isLast && total !== undefined) {
    const limit = first.meta.pagination.pageSize;
    paging = { limit, offset: Math.max(0, (Math.ceil(total / limit) - 1) * limit) };
  }
  await call(paging);
  const times = [];
  const cpuBefore = databaseCpuMs();
  for (let at = 0; at < calls; at += 1) {
    const startedMs = performance.now();
    await call(paging);
    times.push(performance.now() - startedMs);
  }
  const cpuMs = cpuBefore === null ? null : (databaseCpuMs() - cpuBefore) / calls;
  return { total, p50: quantile(times, 0.5), p95: quantile(times, 0.95), cpuMs };
}

/** Creates drivers with vehicles: one after another, then twelve concurrently. */
async function measureDrivers(send) {
  const create = async (at) => {
    const startedMs = performance.now();
    const vehicles = [copyId(0, 100 + 2 * at), copyId(0, 101 + 2 * at)].filter((id) => id < copyId(0, sizes.vehicles));
    await send('POST', '/api/drivers', { name: `New ${at}`, vehicle_ids: vehicles });
    return performance.now() - startedMs;
  };
  const alone = [];
  for (let at = 0; at < calls; at += 1) alone.push(await create(at));
  const together = await Promise.all(Array.from({ length: 12 }, (_none, at) => create(calls + at)));
  const row = (name, times) =>
    `| ${name}, p50 and most | ${quantile(times, 0.5).toFixed(0)} and ${Math.max(...times).toFixed(0)} ms |`;
  return [row('POST /api/drivers with `vehicle_ids`', alone), row('twelve of them at once', together)];
}

const rows = [];
const faults = [];
let writes = [];
try {
  const startedMs = performance.now();
  const context = await fill();
  console.error(`filled in ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  await sleep(isSmall ? 1_000 : 10_000);
  const measure = async (send, list, as) => {
    for (const [name, query] of list.forms) {
      const { total, p50, p95, cpuMs } = await measureForm(send, list, query, context);
      const isMonth = name === monthForm;
      const isOver = p95 > (isMonth ? monthLimitMs : p95LimitMs) || (!isMonth && (cpuMs ?? 0) > cpuLimitMs);
      const cells = [
        `${list.operationId}${as}`,
        name,
        total ?? '',
        p50.toFixed(0),
        p95.toFixed(0),
        cpuMs?.toFixed(0) ?? '',
      ];
      rows.push(`| ${cells.join(' | ')} |`);
      console.error(rows.at(-1), isOver ? '<-- over the limit' : '');
      if (isOver) faults.push(rows.at(-1));
    }
  };
  for (const list of lists(context)) {
    try {
      await measure(context.asOwner, list, '');
    } catch (error) {
      if (error.status !== 403) throw error;
      await measure(context.asStaff, list, '');
    }
  }
  const ofGuests = new Set(['listVehicles', 'listNotifications']);
  for (const list of lists(context).filter(({ operationId }) => ofGuests.has(operationId)))
    await measure(context.asGuest, list, ' (guest)');
  if (!options.includes('--only')) writes = [...(await measureDrivers(context.asOwner)), ...(await measureWrites(db))];
} finally {
  const mib = databaseMib();
  if (mib !== null) writes.push(`| memory of the database at the end | ${mib} MiB |`);
  await client.close();
  await product.stop();
}

const size = Object.entries(sizes)
  .map(
    ([name, count]) =>
      `${count.toLocaleString('en')} ${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`,
  )
  .join(', ');
// Without the folder of `--data`, which has no influence on the results.
const printedOptions = options.filter((option, at) => option !== '--data' && options[at - 1] !== '--data');
const command = ['npm run bench -- lists', ...printedOptions].join(' ');
const text = `# Benchmarks of lists

Written by \`${command}\` on ${new Date().toISOString().slice(0, 10)}, on ${machine()}; load average at the start: ${loadBefore.toFixed(1)}.
Each of two accounts has: ${size}. Each form is called ${calls} times, one call after another. The product, its embedded backends and the
caller share the cores. CPU is the CPU time of the database process for each call. Limits: p95 ${p95LimitMs} ms (${monthLimitMs} ms for a month of one vehicle's history)${Number.isFinite(cpuLimitMs) ? `, CPU ${cpuLimitMs} ms` : ''}.

| list | form | total | p50 ms | p95 ms | CPU ms |
|---|---|---:|---:|---:|---:|
${rows.join('\n')}

## Writes, and concurrent reads

| measurement | result |
|---|---:|
${writes.join('\n')}
`;
const isWhole = !options.includes('--only') && !isSmall;
if (isWhole) writeFileSync(target, text);
console.log(text);
console.log(isWhole ? `written: ${target}` : 'Not written: this was a partial or small run.');
if (faults.length > 0) {
  console.error(`${faults.length} forms are over the limit:\n${faults.join('\n')}`);
  process.exitCode = 1;
}
