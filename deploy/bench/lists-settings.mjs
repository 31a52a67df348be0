// The options and sizes of `lists.mjs`.
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyId } from './lists-data.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const options = process.argv.slice(2).filter((option) => option !== 'lists');
export const isSmall = options.includes('--small');
const isLarge = options.includes('--large');
export const target = join(root, 'docs', isLarge ? 'benchmarks-lists-large.md' : 'benchmarks-lists.md');
export const dataDir = options.includes('--data') ? resolve(options[options.indexOf('--data') + 1]) : undefined;
export const only = new RegExp(options.includes('--only') ? options[options.indexOf('--only') + 1] : '');
export const calls = Number(process.env.CALLS ?? 20);
export const p95LimitMs = Number(process.env.P95_LIMIT_MS ?? (isLarge ? 400 : 150));
/**
 * Forms that read a month of one vehicle, about 36,000 points: reading the points dominates their time, not the query.
 */
export const monthForm = '30 days';
export const monthLimitMs = 400;
/** With 20,000 vehicles only the latency is limited. */
export const cpuLimitMs = Number(process.env.CPU_LIMIT_MS ?? (isLarge ? Number.POSITIVE_INFINITY : 50));
const share = isSmall ? 0.05 : 1;
const sized = (count) => Math.max(10, Math.round(count * share));
export const sizes = {
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
export const nowMs = Date.now();
export const secondAccount = { accountId: 900_000, userId: 900_000, offset: 500_000, webhookId: 900_000 };

export const guestId = copyId(0, 0);
export const staffId = copyId(0, 1);
export const vehicleId = copyId(0, 0);

export const isoBefore = (days) => new Date(nowMs - days * 86_400_000).toISOString();
