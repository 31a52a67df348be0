// Builds a revision of the repository in a folder of its own, once.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, runStep } from '../steps.mjs';

/** Returns the output of a program; throws with its error. */
function run(command, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: root, maxBuffer: 1 << 30, ...options });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stderr.toString()}`);
  return stdout;
}

/** Returns the commit of a revision; throws if the repository does not contain it. */
function findCommit(revision) {
  try {
    return run('git', ['rev-parse', '--verify', '--quiet', `${revision}^{commit}`])
      .toString()
      .trim();
  } catch {
    throw new Error(`The history of this checkout has no revision ${revision}. A clone needs its whole history.`);
  }
}

/** Runs a step of the build; throws if it fails. */
async function build(title, args) {
  const { ok } = await runStep(title, process.execPath, args, { quiet: true, env: { ...process.env, CI: 'true' } });
  if (!ok) throw new Error(`${title} failed.`);
}

/** Builds the services of a revision, and returns the folder. A later call returns the same folder. */
export async function buildRevision(revision) {
  const commit = findCommit(revision);
  const folder = join(root, '.cache', 'revisions', commit);
  const stamp = join(folder, '.built');
  if (existsSync(stamp)) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  run('tar', ['-x', '-C', folder], { input: run('git', ['archive', '--format=tar', commit]) });
  const install = ['install', '--frozen-lockfile', '--prefer-offline'];
  await build(`Installing the packages of ${revision}`, [join(folder, 'scripts', 'pnpm.mjs'), ...install]);
  await build(`Building ${revision}`, [join(folder, 'node_modules', 'typescript', 'bin', 'tsc'), '-b', folder]);
  await build(`Bundling ${revision}`, [join(folder, 'scripts', 'bundle.mjs')]);
  writeFileSync(stamp, '');
  return folder;
}
