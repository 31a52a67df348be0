import { join } from 'node:path';
import type { Progress } from '../progress.ts';
import { readOutput, runCommand } from '../run-command.ts';
import { StartError } from '../start-error.ts';
import { logTail } from '../supervised-process.ts';
import { findOnPath } from './find-on-path.ts';

export interface PackageRequest {
  /** Debian's package and the program in it. */
  packageName: string;
  program: string;
  /** What to do by hand where this cannot be done. */
  advice: string;
}

export interface InstallContext {
  progress: Progress;
  logDir: string;
  signal?: AbortSignal;
}

/** The words before `apt-get` that give the right to install; undefined where there is no such right, or no apt-get. */
async function privilege(): Promise<string[] | undefined> {
  if (findOnPath('apt-get') === undefined) return undefined;
  if (process.getuid?.() === 0) return [];
  return (await readOutput('sudo', ['-n', 'true'])) === undefined ? undefined : ['sudo', '-n'];
}

/** Installs with apt-get and gives the programs' paths, in order; one StartError with the advice for all that is missing. */
export async function installPackages(requests: readonly PackageRequest[], context: InstallContext): Promise<string[]> {
  const advice = requests.map((request) => request.advice).join(' ');
  const prefix = await privilege();
  const names = requests.map(({ packageName }) => packageName);
  if (prefix === undefined) throw new StartError(advice);
  const logFile = join(context.logDir, 'apt-get.log');
  // `env` because sudo clears the environment; RUNLEVEL=1 keeps the package from starting a service of its own.
  const aptGet = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1', 'apt-get', '-y', '-q'];
  const run = async (...args: string[]): Promise<boolean> => {
    const [command = 'env', ...rest] = [...aptGet, ...args];
    const options = { logFile, ...(context.signal === undefined ? {} : { signal: context.signal }) };
    return (await runCommand(command, rest, options)) === 0;
  };
  const install = (): Promise<boolean> => run('install', '--no-install-recommends', ...names);
  const installed = await context.progress.step(`Installing ${names.join(' and ')} (apt-get)`, async () => {
    // The package lists of a fresh machine are empty or old.
    return (await install()) || ((await run('update')) && (await install()));
  });
  const programs = requests.map(({ program }) => findOnPath(program));
  if (!installed || programs.includes(undefined)) {
    throw new StartError(`apt-get could not install ${names.join(' and ')}. ${advice}`, logTail(logFile));
  }
  return programs.filter((program) => program !== undefined);
}
