import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { probeUrl } from '../backends/probe.ts';
import { type Check, failed, ok, skipped, warning } from './check.ts';
import { checkMigrations } from './check-migrations.ts';
import type { DoctorOptions } from './doctor-options.ts';

const retryMs = 500;
const lowDiskBytes = 2 * 1024 ** 3;
const advices = {
  nats: 'Start NATS and check NATS_URL: without it reports are not acknowledged and commands fail.',
  redis: 'Start Redis and check REDIS_URL: without it sessions and streams are unknown.',
  mongodb: 'Start MongoDB and check MONGODB_URL: without it nothing is stored.',
} as const;

/** Returns the checks of the installation as a whole: its health, stores, migrations and disk. */
export const createInstallationChecks = (options: DoctorOptions): Check[] => [
  checkHealth(options.baseUrl),
  ...(['nats', 'redis', 'mongodb'] as const).map((kind) => checkStore(kind, options.stores[kind])),
  checkMigrations(options.adminUrl),
  checkDisk(options.dataDir),
];

const checkHealth = (baseUrl: string): Check => ({
  name: 'Health',
  advice: 'Check that device-api runs and that the reverse proxy forwards /api/v1 to it.',
  run: async (signal) => {
    const response = await fetch(`${baseUrl}/api/v1/health`, { signal });
    const { components } = (await response.json()) as { components?: Record<string, boolean> };
    const broken = Object.entries(components ?? {}).flatMap(([name, isHealthy]) => (isHealthy ? [] : [name]));
    if (response.status === 200 && broken.length === 0) return ok('All components are healthy.');
    return failed(
      `${response.status}: ${broken.length === 0 ? 'unexpected response' : `${broken.join(', ')} unhealthy`}`,
      'Follow the entries of docs/operations.md, Incidents: Broker unavailable, Backend unavailable.',
    );
  },
});

const checkStore = (kind: keyof typeof advices, url: string | undefined): Check => ({
  name: `Store: ${kind}`,
  timeoutMs: 15_000,
  advice: advices[kind],
  run: async (signal) => {
    if (url === undefined) return skipped(`no --${kind}-url`);
    // A busy server may not respond to the first attempt.
    while (!(await probeUrl(kind, url))) await delay(retryMs, undefined, { signal });
    return ok('responds in its own protocol');
  },
});

const checkDisk = (dataDir: string | undefined): Check => ({
  name: 'Disk',
  advice: 'Check the data folder.',
  run: async () => {
    if (dataDir === undefined) return skipped('The data is on another machine: see the alert "Clip disk full".');
    const { bavail, bsize } = await statfs(dataDir);
    const text = `${((bavail * bsize) / 1024 ** 3).toFixed(1)} GB free in ${dataDir}`;
    return bavail * bsize < lowDiskBytes ? warning(text, 'Enlarge the disk, or shorten the retention.') : ok(text);
  },
});
