import { StartError } from '../start-error.ts';

export type BackendName = 'nats' | 'redis' | 'mongodb' | 'ffmpeg';

/** Source of a backend: an external server, or a program that this start runs. */
export type Resolved = { from: 'url'; url: string } | { from: 'path' | 'obtained'; program: string };

export interface BackendSource {
  name: BackendName;
  /** Environment variable with its URL (ffmpeg: with its path). */
  variable: string;
  /** Suitable program names, the preferred one first. */
  programs: readonly string[];
  /** Installs or builds it; throws a StartError if it cannot. */
  obtain: () => Promise<string>;
}

export interface Surroundings {
  env: NodeJS.ProcessEnv;
  findOnPath: (program: string) => string | undefined;
  isExecutable: (path: string) => boolean;
}

/** Applies the same order to all backends: the environment, a program on the PATH, then installation or build. */
export async function resolveBackend(
  source: BackendSource,
  { env, findOnPath, isExecutable }: Surroundings,
): Promise<Resolved> {
  const given = env[source.variable];
  if (given !== undefined && given !== '') {
    if (source.name !== 'ffmpeg') return { from: 'url', url: given };
    const program = given.includes('/') ? given : findOnPath(given);
    if (program !== undefined && isExecutable(program)) return { from: 'path', program };
    throw new StartError(`FFMPEG_PATH is ${given}, which is not a program: set it to ffmpeg's full path, or unset it.`);
  }
  for (const name of source.programs) {
    const program = findOnPath(name);
    if (program !== undefined) return { from: 'path', program };
  }
  return { from: 'obtained', program: await source.obtain() };
}
