// Runs the pnpm version that package.json pins, without a global install: npm downloads it once into its own cache.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const { packageManager } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

/** Returns the command line that runs pnpm with these arguments. */
export const pnpmCommand = (...args) => ['npm', 'exec', '--yes', `--package=${packageManager}`, '--', 'pnpm', ...args];

/** Runs pnpm with these arguments in the project's root. Exits this process with its exit code if it fails. */
function pnpm(...args) {
  const [command, ...rest] = pnpmCommand(...args);
  const result = spawnSync(command, rest, { cwd: root, stdio: 'inherit' });
  if (result.error !== undefined) {
    console.error(`npm could not be started (${result.error.message}). Install Node.js 20.19 or later with npm.`);
    process.exit(1);
  }
  if (result.status !== 0) process.exit(result.status ?? 1);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) pnpm(...process.argv.slice(2));
