import type { Progress } from '../progress.ts';
import { StartError } from '../start-error.ts';
import { buildProgram, ferretDb, type GoProgram, natsServer } from './build-programs.ts';
import { findOnPath, isExecutable } from './find-on-path.ts';
import { installPackages, type PackageRequest } from './install-packages.ts';
import { probeUrl, type ServerKind } from './probe.ts';
import { type BackendName, type BackendSource, type Resolved, resolveBackend } from './resolve.ts';

export type PreparedBackends = Record<BackendName, Resolved>;

interface PrepareOptions {
  env: NodeJS.ProcessEnv;
  cacheDir: string;
  logDir: string;
  progress: Progress;
  signal?: AbortSignal;
}

const redis: PackageRequest = {
  packageName: 'redis-server',
  program: 'redis-server',
  advice: 'Install Redis (Debian: sudo apt-get install redis-server; macOS: brew install redis) or set REDIS_URL.',
};

const ffmpeg: PackageRequest = {
  packageName: 'ffmpeg',
  program: 'ffmpeg',
  advice: 'Install ffmpeg (Debian: sudo apt-get install ffmpeg; macOS: brew install ffmpeg) or set FFMPEG_PATH.',
};

// apt-get and go each take a lock and use both cores, so one of each runs at a time.
function createSerialQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const current = last.then(work, work);
    last = current;
    return current;
  };
}

function sources(options: PrepareOptions): BackendSource[] {
  const apt = createSerialQueue();
  const go = createSerialQueue();
  const install = (request: PackageRequest) => async (): Promise<string> => {
    const [program] = await apt(() => installPackages([request], options));
    if (program === undefined) throw new StartError(request.advice);
    return program;
  };
  const build = (program: GoProgram) => (): Promise<string> => go(() => buildProgram(program, options));
  return [
    { name: 'nats', variable: 'NATS_URL', programs: ['nats-server'], obtain: build(natsServer) },
    { name: 'redis', variable: 'REDIS_URL', programs: ['redis-server'], obtain: install(redis) },
    { name: 'mongodb', variable: 'MONGODB_URL', programs: ['mongod'], obtain: build(ferretDb) },
    { name: 'ffmpeg', variable: 'FFMPEG_PATH', programs: ['ffmpeg'], obtain: install(ffmpeg) },
  ];
}

async function checkUrl(kind: ServerKind, variable: string, url: string): Promise<void> {
  let isReachable: boolean;
  try {
    isReachable = await probeUrl(kind, url);
  } catch (cause) {
    throw new StartError(`${variable} is not a ${kind}:// URL: correct it or unset it.`, '', { cause });
  }
  if (!isReachable)
    throw new StartError(`No server responds at ${variable}: start it, correct the URL, or unset ${variable}.`);
}

/** Finds, installs or builds every backend, concurrently where possible. Starts none of them. */
export async function prepareBackends(options: PrepareOptions): Promise<PreparedBackends> {
  const surroundings = { env: options.env, findOnPath, isExecutable };
  const found = await Promise.all(
    sources(options).map(async (source) => {
      const resolved = await resolveBackend(source, surroundings);
      if (resolved.from === 'url' && source.name !== 'ffmpeg')
        await checkUrl(source.name, source.variable, resolved.url);
      return [source.name, resolved] as const;
    }),
  );
  return Object.fromEntries(found) as PreparedBackends;
}
