import { copyFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { BackupError, parseCommand, runCommand } from '@fleet/backup';
import { runningLauncher } from './instance-lock.ts';
import { readOptions } from './options.ts';
import { createProgress } from './progress.ts';
import { describeError, StartError } from './start-error.ts';
import { useStores } from './use-stores.ts';

type Command = ReturnType<typeof parseCommand>;

const secretsFlag = '--with-secrets';
const secretsFile = 'secrets.json';
const progress = createProgress((text) => process.stdout.write(text));

/** Copies the secrets into the backup, or from it into a data folder without secrets. */
function copySecrets(command: Command, dataDir: string): void {
  const [stored, own] = [join(command.folder, secretsFile), join(dataDir, secretsFile)];
  if (command.name === 'backup') copyFileSync(own, stored);
  else if (existsSync(stored) && !existsSync(own)) copyFileSync(stored, own);
  else if (!existsSync(own))
    progress.line(
      `${own} is missing: copy it from the former installation before the start. Without it, stored secrets cannot be decrypted.`,
    );
}

async function run(args: readonly string[]): Promise<void> {
  const command = parseCommand(args.filter((arg) => arg !== secretsFlag));
  const options = readOptions([], process.env);
  const { dataDir } = options;
  const pid = runningLauncher(dataDir);
  if (command.name === 'restore' && pid !== undefined)
    throw new StartError(`The product is running (process ${pid}): stop it first (Ctrl-C, or kill ${pid}).`);
  await useStores(options, progress, async (urls) => {
    const addresses = {
      natsUrl: urls.NATS_URL,
      redisUrl: urls.REDIS_URL,
      mongodbUrl: urls.MONGODB_URL,
      clipsDir: join(dataDir, 'clips'),
      replicas: Number(options.env['JETSTREAM_REPLICAS'] || '1'),
    };
    await runCommand(command, addresses, (line) => progress.line(line));
  });
  if (command.name === 'restore' || args.includes(secretsFlag)) copySecrets(command, dataDir);
}

try {
  await run(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof BackupError ? error.message : describeError(error));
  process.exitCode = 1;
}
// A helper process may still hold the event loop.
process.exit();
