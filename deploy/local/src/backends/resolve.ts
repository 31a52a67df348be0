import { StartError } from '../start-error.ts';

export type BackendName = 'nats' | 'redis' | 'mongodb' | 'ffmpeg';

/** Where a backend comes from: a server that somebody else runs, or a program that we run. */
export type Resolved = { from: 'url'; url: string } | { from: 'path' | 'obtained'; program: string };

export interface BackendSource {
  name: BackendName;
  /** The environment variable with its URL (ffmpeg: with its path). */
  variable: string;
  /** Program names that do, the preferred one first. */
  programs: readonly string[];
  /** Installs or builds it; a StartError where that cannot be done. */
  obtain: () => Promise<string>;
}

export interface Surroundings {
  env: NodeJS.ProcessEnv;
  findOnPath: (program: string) => string | undefined;
  isExecutable: (path: string) => boolean;
}

/** The one order for all backends: the environment, else a program on the PATH, else install or build. */
export async function resolveBackend(
  source: BackendSource,
  { env, findOnPath, isExecutable }: Surroundings,
): Promise<Resolved> {
  const given = env[source.variable];
  if (given !== undefined && given !== '') {
    if (source.name !== 'ffmpeg') return { from: 'url', url: given };
    const program = given.includes('/') ? given : findOnPath(given);
    if (program !== undefined && isExecutable(program)) return { from: 'path', program };
    throw new StartError(`FFMPEG_PATH is ${given}, which is no program: set it to ffmpeg's full path, or unset it.`);
  }
  for (const name of source.programs) {
    const program = findOnPath(name);
    if (program !== undefined) return { from: 'path', program };
  }
  return { from: 'obtained', program: await source.obtain() };
}
