// The measurements of `lists.mjs`: latency of requests, CPU time and memory of the database.
import { readFileSync } from 'node:fs';
import { copyId } from './lists-data.mjs';
import { pathValue } from './lists-forms.mjs';
import { calls, sizes } from './lists-settings.mjs';

/** Returns the CPU milliseconds used by the database process; null if this benchmark did not start it. */
function readCpuMs(databasePid) {
  if (databasePid === undefined) return null;
  const fields = readFileSync(`/proc/${databasePid}/stat`, 'utf8').split(') ')[1].split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** Returns the memory of the database process; null if this benchmark did not start it. */
export const readMemoryMib = (databasePid) =>
  databasePid === undefined
    ? null
    : Math.round(Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${databasePid}/status`, 'utf8'))[1]) / 1024);

const quantile = (times, part) => times.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(times.length * part) - 1)];

/** Calls one form of a list several times; returns its latencies and the CPU time of the database. */
export async function measureForm(send, list, query, context) {
  const path = list.path.replace(/\{\w+\}/, String(pathValue(list, context)));
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
  const cpuBefore = readCpuMs(context.databasePid);
  for (let at = 0; at < calls; at += 1) {
    const startedMs = performance.now();
    await call(paging);
    times.push(performance.now() - startedMs);
  }
  const cpuMs = cpuBefore === null ? null : (readCpuMs(context.databasePid) - cpuBefore) / calls;
  return { total, p50: quantile(times, 0.5), p95: quantile(times, 0.95), cpuMs };
}

/** Creates drivers with vehicles: one after another, then twelve concurrently. */
export async function measureDrivers(send) {
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
