import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { runningLauncher } from './instance-lock.ts';
import { readOptions } from './options.ts';
import { describeError, StartError } from './start-error.ts';

/** Deletes the content of the data folder of a product that does not run. */
function reset(): string {
  const { dataDir } = readOptions([], process.env);
  const pid = runningLauncher(dataDir);
  if (pid !== undefined)
    throw new StartError(`The product is running (process ${pid}): stop it first (Ctrl-C, or kill ${pid}).`);
  if (!existsSync(dataDir)) return `${dataDir} is already empty.`;
  for (const entry of readdirSync(dataDir)) rmSync(join(dataDir, entry), { recursive: true, force: true });
  return `${dataDir} is empty.`;
}

try {
  console.log(reset());
} catch (error) {
  console.error(describeError(error));
  process.exit(1);
}
