// `npm run bench -- lists`: measures every list of the Platform API with two large accounts: latency, and CPU time and
// memory of the database. Then measures writes and reads of the database alone. Writes docs/benchmarks-lists.md, or
// docs/benchmarks-lists-large.md. Fails if the p95 or the CPU time of a list is above the limit.
// Options: `--small` (a twentieth of the data), `--large` (20,000 vehicles), `--only REGEXP` (operation ids), `--data
// FOLDER` (stores the data there and reuses it). MONGODB_URL selects another server, whose CPU time is unknown then.
// Settings: CALLS (20), P95_LIMIT_MS (150; 400 with --large), CPU_LIMIT_MS (50; none with --large).
import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { startProduct } from '../local/dist/product.js';
import { raisedLimits } from './limits.mjs';
import { fill } from './lists-fill.mjs';
import { findLists } from './lists-forms.mjs';
import { measureDrivers, measureForm, readMemoryMib } from './lists-measure.mjs';
import {
  calls,
  cpuLimitMs,
  dataDir,
  isSmall,
  monthForm,
  monthLimitMs,
  options,
  p95LimitMs,
  sizes,
  target,
} from './lists-settings.mjs';
import { measureWrites } from './lists-writes.mjs';
import { machine } from './machine.mjs';

const { MongoClient } = createRequire(new URL('../../libs/storage/package.json', import.meta.url))('mongodb');
const [loadBefore] = loadavg();
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
const { backends, processes } = product.runtime;
const databasePid = Object.entries(processes).find(([name]) => /mongo|ferret/.test(name))?.[1];
const client = await new MongoClient(backends.mongodb_url).connect();
const db = client.db();

const rows = [];
const faults = [];
let writes = [];
try {
  const startedMs = performance.now();
  const context = { ...(await fill(db, product.runtime)), databasePid };
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
  for (const list of findLists(context)) {
    try {
      await measure(context.asOwner, list, '');
    } catch (error) {
      if (error.status !== 403) throw error;
      await measure(context.asStaff, list, '');
    }
  }
  const ofGuests = new Set(['listVehicles', 'listNotifications']);
  for (const list of findLists(context).filter(({ operationId }) => ofGuests.has(operationId)))
    await measure(context.asGuest, list, ' (guest)');
  if (!options.includes('--only')) writes = [...(await measureDrivers(context.asOwner)), ...(await measureWrites(db))];
} finally {
  const mib = readMemoryMib(databasePid);
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
