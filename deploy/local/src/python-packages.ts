import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findOnPath } from './backends/find-on-path.ts';
import { installPackages } from './backends/install-packages.ts';
import { repoRoot } from './paths.ts';
import type { Progress } from './progress.ts';
import { readOutput, runCommand } from './run-command.ts';
import { StartError } from './start-error.ts';
import { logTail } from './supervised-process.ts';

/** Packages of PyPI that the tests need. */
interface PythonPackages {
  /** Name of the folder and of the log. */
  readonly name: string;
  /** Title of the installation step. */
  readonly title: string;
  /** Begins the advice on machines without Python: what needs it. */
  readonly requiredBy: string;
  /** The pinned packages, with their hashes. */
  readonly requirementsFile: string;
}

/** A Python, and the folder with the installed packages. */
export interface InstalledPackages {
  python: string;
  home: string;
}

/** Minimum version required by the packages. */
const neededPython = [3, 11] as const;

const formatAdvice = (requiredBy: string): string =>
  `${requiredBy} needs Python 3.11 or later with pip: install it (Debian 12, Ubuntu 24.04 or later: sudo apt-get install python3-pip; elsewhere https://www.python.org/downloads) so that python3 is on the PATH.`;

/** Returns whether `python3 --version` names a version that can run the packages. */
export function isPythonRecentEnough(versionLine: string): boolean {
  const match = /^Python (\d+)\.(\d+)/.exec(versionLine);
  if (match === null) return false;
  const [major, minor] = [Number(match[1]), Number(match[2])];
  return major > neededPython[0] || (major === neededPython[0] && minor >= neededPython[1]);
}

async function findPython(): Promise<string | undefined> {
  for (const name of ['python3', 'python3.14', 'python3.13', 'python3.12', 'python3.11']) {
    const python = findOnPath(name);
    if (python === undefined) continue;
    if (isPythonRecentEnough((await readOutput(python, ['--version'])) ?? '')) return python;
  }
  return undefined;
}

interface Context {
  progress: Progress;
  cacheDir: string;
  logDir: string;
}

/** Returns a Python with pip: its own, that of a virtual environment if it can create one, or Debian's. */
async function pythonWithPip(advice: string, context: Context): Promise<{ python: string; installer: string }> {
  const hasPip = async (python: string): Promise<boolean> =>
    (await readOutput(python, ['-m', 'pip', '--version'])) !== undefined;
  const found = await findPython();
  if (found !== undefined) {
    if (await hasPip(found)) return { python: found, installer: found };
    const venv = join(context.cacheDir, 'python-venv');
    const logFile = join(context.logDir, 'python-venv.log');
    const created = await runCommand(found, ['-m', 'venv', '--clear', venv], { logFile });
    if (created === 0) return { python: found, installer: join(venv, 'bin', 'python') };
  }
  await installPackages([{ packageName: 'python3-pip', program: 'python3', advice }], context);
  const python = await findPython();
  if (python === undefined || !(await hasPip(python))) throw new StartError(advice);
  return { python, installer: python };
}

/** Returns the packages from the cache, or installs them with pip. */
export async function preparePythonPackages(
  { name, title, requiredBy, requirementsFile }: PythonPackages,
  progress: Progress,
  cacheDir = join(repoRoot, '.cache'),
): Promise<InstalledPackages> {
  const home = join(cacheDir, name);
  const stamp = join(cacheDir, `${name}.installed-from`);
  const logDir = join(cacheDir, 'logs');
  mkdirSync(logDir, { recursive: true });
  const requirements = readFileSync(requirementsFile);
  const computeFingerprint = async (python: string): Promise<string> =>
    createHash('sha256')
      .update(`${python}\n${await readOutput(python, ['--version'])}\n`)
      .update(requirements)
      .digest('hex');
  const existing = await findPython();
  if (
    existing !== undefined &&
    existsSync(home) &&
    existsSync(stamp) &&
    readFileSync(stamp, 'utf8') === (await computeFingerprint(existing))
  )
    return { python: existing, home };

  const { python, installer } = await pythonWithPip(formatAdvice(requiredBy), { progress, cacheDir, logDir });
  const logFile = join(logDir, `${name}.log`);
  for (const old of [stamp, home]) rmSync(old, { recursive: true, force: true });
  const pip = ['-m', 'pip', 'install', '--disable-pip-version-check', '--require-hashes', '--only-binary=:all:'];
  const outcome = await progress.step(title, () =>
    runCommand(installer, [...pip, '--target', home, '-r', requirementsFile], { logFile }),
  );
  if (outcome !== 0)
    throw new StartError(
      `pip could not install ${name}: check the network or the package index of pip. Output of pip:`,
      logTail(logFile),
    );
  writeFileSync(stamp, await computeFingerprint(python));
  return { python, home };
}
