import { join } from 'node:path';
import type { Progress } from '../progress.ts';
import { readOutput, runCommand } from '../run-command.ts';
import { StartError } from '../start-error.ts';
import { logTail } from '../supervised-process.ts';
import { findOnPath } from './find-on-path.ts';

export interface PackageRequest {
  /** A Debian package and the program that it contains. */
  packageName: string;
  program: string;
  /** Manual installation instructions if the package cannot be installed. */
  advice: string;
}

interface InstallContext {
  progress: Progress;
  logDir: string;
  signal?: AbortSignal;
}

/**
 * Returns the words before `apt-get` that grant the permission to install; undefined without the permission or without
 * apt-get.
 */
async function privilege(): Promise<string[] | undefined> {
  if (findOnPath('apt-get') === undefined) return undefined;
  if (process.getuid?.() === 0) return [];
  return (await readOutput('sudo', ['-n', 'true'])) === undefined ? undefined : ['sudo', '-n'];
}

/**
 * Installs packages with apt-get and returns the paths of the programs, in order. Throws one StartError with the advice
 * for all that are missing.
 */
export async function installPackages(requests: readonly PackageRequest[], context: InstallContext): Promise<string[]> {
  const advice = requests.map((request) => request.advice).join(' ');
  const prefix = await privilege();
  const names = requests.map(({ packageName }) => packageName);
  if (prefix === undefined) throw new StartError(advice);
  const logFile = join(context.logDir, 'apt-get.log');
  // `env` because sudo clears the environment; RUNLEVEL=1 prevents the package from starting a service.
  const aptGet = [...prefix, 'env', 'DEBIAN_FRONTEND=noninteractive', 'RUNLEVEL=1', 'apt-get', '-y', '-q'];
  const run = async (...args: string[]): Promise<boolean> => {
    const [command = 'env', ...rest] = [...aptGet, ...args];
    const options = { logFile, ...(context.signal === undefined ? {} : { signal: context.signal }) };
    return (await runCommand(command, rest, options)) === 0;
  };
  const install = (): Promise<boolean> => run('install', '--no-install-recommends', ...names);
  const installed = await context.progress.step(`Installing ${names.join(' and ')} (apt-get)`, async () => {
    // The package lists of a fresh machine are empty or outdated.
    return (await install()) || ((await run('update')) && (await install()));
  });
  const programs = requests.map(({ program }) => findOnPath(program));
  if (!installed || programs.includes(undefined)) {
    throw new StartError(`apt-get could not install ${names.join(' and ')}. ${advice}`, logTail(logFile));
  }
  return programs.filter((program) => program !== undefined);
}
