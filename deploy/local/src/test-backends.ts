import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareBackends } from './backends/prepare-backends.ts';
import { type BackendUrls, startBackends } from './backends/start-backends.ts';
import { repoRoot } from './paths.ts';
import { findFreeOffset, planPorts } from './ports.ts';
import type { Progress } from './progress.ts';
import { startReaper } from './reaper.ts';
import { Supervisor } from './supervisor.ts';

export interface TestBackends {
  urls: BackendUrls;
  stop(): Promise<void>;
}

/** Backends on ports and in a folder of their own, for unit tests that need real servers. */
export async function startTestBackends(
  progress: Progress,
  env: NodeJS.ProcessEnv = process.env,
): Promise<TestBackends> {
  const cacheDir = join(repoRoot, '.cache');
  const prepared = await prepareBackends({ env, cacheDir, logDir: join(cacheDir, 'logs'), progress });
  const dataDir = mkdtempSync(join(tmpdir(), 'fleet-backends-'));
  const ports = planPorts(await findFreeOffset());
  const reaper = startReaper([]);
  const supervisor = new Supervisor({ reaper, report: (line) => progress.line(line) });
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    await reaper.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const urls = await startBackends({ supervisor, prepared, ports, dataDir, logDir: join(dataDir, 'logs') });
    return { urls, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
