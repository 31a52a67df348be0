import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildProgram, ferretDb, s3Server } from './backends/build-programs.ts';
import { findOnPath } from './backends/find-on-path.ts';
import { prepareBackends } from './backends/prepare-backends.ts';
import type { Resolved } from './backends/resolve.ts';
import { type BackendUrls, startBackends } from './backends/start-backends.ts';
import { repoRoot } from './paths.ts';
import { claimFreeOffset, planPorts } from './ports.ts';
import type { Progress } from './progress.ts';
import { startReaper } from './reaper.ts';
import { Supervisor } from './supervisor.ts';

/** Programs for tests that need their own server to kill. */
interface TestPrograms {
  NATS_SERVER_BIN: string;
  REDIS_SERVER_BIN: string;
  FERRETDB_BIN: string;
  S3_SERVER_BIN: string;
}

interface TestBackends {
  /** Environment of the tests: URLs of the servers, and programs to start more of them. */
  env: BackendUrls & TestPrograms;
  stop(): Promise<void>;
}

function getProgram(resolved: Resolved): string {
  if (resolved.from === 'url')
    throw new Error('a URL in the environment names a running server, but these tests start their own: unset it');
  return resolved.program;
}

/**
 * Builds or finds the backends of a product, so that several concurrent starts do not each build them. Returns the
 * programs for tests that start clusters.
 */
export async function prepareProductBackends(
  progress: Progress,
  env: NodeJS.ProcessEnv = process.env,
): Promise<Pick<Partial<TestPrograms>, 'NATS_SERVER_BIN' | 'REDIS_SERVER_BIN'>> {
  const cacheDir = join(repoRoot, '.cache');
  const { nats, redis } = await prepareBackends({ cacheDir, logDir: join(cacheDir, 'logs'), progress, env });
  return {
    ...(nats.from === 'url' ? {} : { NATS_SERVER_BIN: nats.program }),
    ...(redis.from === 'url' ? {} : { REDIS_SERVER_BIN: redis.program }),
  };
}

interface TestBackendsOptions {
  /** Default: that of this process. */
  env?: NodeJS.ProcessEnv;
  /** Parent of the data folder. Default: the system's folder for temporary files. */
  parentFolder?: string;
}

/** Starts backends on separate ports and in a separate folder, for unit tests that need real servers. */
export async function startTestBackends(
  progress: Progress,
  { env = process.env, parentFolder = tmpdir() }: TestBackendsOptions = {},
): Promise<TestBackends> {
  const cacheDir = join(repoRoot, '.cache');
  const context = { cacheDir, logDir: join(cacheDir, 'logs'), progress };
  // Tests kill servers, so NATS and Redis are never external ones; an external MongoDB is allowed.
  const prepared = await prepareBackends({ ...context, env: { ...env, NATS_URL: undefined, REDIS_URL: undefined } });
  const programs: TestPrograms = {
    NATS_SERVER_BIN: getProgram(prepared.nats),
    REDIS_SERVER_BIN: getProgram(prepared.redis),
    FERRETDB_BIN: await buildProgram(ferretDb, context),
    S3_SERVER_BIN: env['S3_SERVER_BIN'] || findOnPath(s3Server.name) || (await buildProgram(s3Server, context)),
  };
  const dataDir = mkdtempSync(join(parentFolder, 'fleet-backends-'));
  const claim = await claimFreeOffset();
  const reaper = startReaper([]);
  const supervisor = new Supervisor({ reaper, report: (line) => progress.line(line) });
  const stop = async (): Promise<void> => {
    await supervisor.stop();
    await reaper.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  try {
    const urls = await startBackends({
      supervisor,
      prepared,
      ports: planPorts(claim.offset),
      dataDir,
      logDir: join(dataDir, 'logs'),
    });
    return { env: { ...urls, ...programs }, stop };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    await claim.release();
  }
}
