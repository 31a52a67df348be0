import { BackupError, parseCommand, readAddresses, runCommand } from '@fleet/backup';
import { ConfigError } from '@fleet/service-kit';

/**
 * Backs up the stores that NATS_URL, MONGODB_URL and REDIS_URL name, and CLIPS_DIR if it is set, or restores them:
 * `backup --to FOLDER`, `restore --from FOLDER`.
 */
try {
  await runCommand(parseCommand(process.argv.slice(2)), readAddresses(process.env), (line) => console.log(line));
} catch (error) {
  if (!(error instanceof BackupError || error instanceof ConfigError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
