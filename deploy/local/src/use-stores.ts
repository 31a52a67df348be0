import { join } from 'node:path';
import { prepareBackends } from './backends/prepare-backends.ts';
import { type BackendUrls, startBackends } from './backends/start-backends.ts';
import { acquireLock, runningLauncher } from './instance-lock.ts';
import type { LaunchOptions } from './options.ts';
import { planPorts } from './ports.ts';
import type { Progress } from './progress.ts';
import { startReaper } from './reaper.ts';
import { readRuntime } from './runtime-file.ts';
import { StartError } from './start-error.ts';
import { Supervisor } from './supervisor.ts';

/** Calls `use` with the addresses of the stores: of the running product, or of stores started for the call alone. */
export async function useStores(
  options: LaunchOptions,
  progress: Progress,
  use: (urls: Omit<BackendUrls, 'FFMPEG_PATH'>) => Promise<void>,
): Promise<void> {
  const { dataDir } = options;
  if (runningLauncher(dataDir) === undefined) return useOwnStores(options, progress, use);
  const backends = readRuntime(dataDir)?.backends;
  if (backends === undefined) throw new StartError('The product is starting or stopping: try again in a minute.');
  await use({ NATS_URL: backends.nats_url, REDIS_URL: backends.redis_url, MONGODB_URL: backends.mongodb_url });
}

async function useOwnStores(
  { dataDir, cacheDir, env, portOffset }: LaunchOptions,
  progress: Progress,
  use: (urls: BackendUrls) => Promise<void>,
): Promise<void> {
  const lock = acquireLock(dataDir);
  if (lock.kind === 'running') throw new StartError(`The product is starting (process ${lock.pid}): try again.`);
  const logDir = join(dataDir, 'logs');
  const reaper = startReaper([join(dataDir, 'launcher.lock')]);
  const supervisor = new Supervisor({ reaper, report: (line) => progress.line(line) });
  try {
    const prepared = await prepareBackends({ env, cacheDir, logDir, progress });
    const ports = planPorts(portOffset);
    const urls = await progress.step('Starting NATS, Redis and the MongoDB-compatible server', () =>
      startBackends({ supervisor, prepared, ports, dataDir, logDir }),
    );
    await use(urls);
  } finally {
    await supervisor.stop();
    await reaper.close();
    lock.release();
  }
}
