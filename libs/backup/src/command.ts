import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { openBus } from '@fleet/bus';
import { ConfigError, createLogger } from '@fleet/service-kit';
import { connectRedis, openDatabase } from '@fleet/storage';
import { BackupError } from './backup-error.ts';
import { createBackup } from './create-backup.ts';
import type { Installation, Report } from './installation.ts';
import { restoreBackup } from './restore-backup.ts';

/** Where the stores of an installation are. */
interface StoreAddresses {
  readonly natsUrl: string;
  readonly redisUrl: string;
  readonly mongodbUrl: string;
  readonly clipsDir?: string | undefined;
  /** Replicas of restored streams. Default: 1. */
  readonly replicas?: number | undefined;
}

const usage = `Usage: backup --to FOLDER [--without-files]
       restore --from FOLDER [--replace] [--without-files]`;

/** A parsed command line. */
type BackupCommand =
  | { readonly name: 'backup'; readonly folder: string; readonly isWithoutFiles: boolean }
  | {
      readonly name: 'restore';
      readonly folder: string;
      readonly isWithoutFiles: boolean;
      readonly isReplacing: boolean;
    };

/** Parses the command line of `backup` or `restore`. Throws a BackupError with the usage. */
export function parseCommand([name, ...args]: readonly string[]): BackupCommand {
  try {
    const options = { 'without-files': { type: 'boolean', default: false } } as const;
    if (name === 'backup') {
      const { values } = parseArgs({ args, options: { ...options, to: { type: 'string' } } });
      if (values.to !== undefined) return { name, folder: resolve(values.to), isWithoutFiles: values['without-files'] };
    } else if (name === 'restore') {
      const more = { from: { type: 'string' }, replace: { type: 'boolean', default: false } } as const;
      const { values } = parseArgs({ args, options: { ...options, ...more } });
      if (values.from !== undefined)
        return {
          name,
          folder: resolve(values.from),
          isWithoutFiles: values['without-files'],
          isReplacing: values.replace,
        };
    }
  } catch (cause) {
    throw new BackupError(`${(cause as Error).message}\n${usage}`, { cause });
  }
  throw new BackupError(usage);
}

/** Reads the addresses of the stores from the settings of the services. Throws a ConfigError without them. */
export function readAddresses(env: NodeJS.ProcessEnv): StoreAddresses {
  const read = (name: string): string => {
    const value = env[name];
    if (value === undefined || value === '') throw new ConfigError(`${name} is not set: set it as in the services.`);
    return value;
  };
  return {
    natsUrl: read('NATS_URL'),
    redisUrl: read('REDIS_URL'),
    mongodbUrl: read('MONGODB_URL'),
    clipsDir: env['CLIPS_DIR'] || undefined,
    replicas: Number(env['JETSTREAM_REPLICAS'] || '1'),
  };
}

/** Runs a command on the stores at these addresses. */
export async function runCommand(command: BackupCommand, addresses: StoreAddresses, report: Report): Promise<void> {
  const startedAtMs = performance.now();
  const clipsDir = command.isWithoutFiles ? undefined : addresses.clipsDir;
  await withInstallation({ ...addresses, clipsDir }, async (installation) => {
    if (command.name === 'backup') await createBackup(installation, command.folder, report);
    else await restoreBackup(installation, command.folder, command, report);
  });
  report(`Done in ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s.`);
}

async function withInstallation(
  { natsUrl, redisUrl, mongodbUrl, clipsDir, replicas = 1 }: StoreAddresses,
  use: (installation: Installation) => Promise<void>,
): Promise<void> {
  const log = createLogger('backup', 'warn');
  const database = openDatabase(mongodbUrl, { appName: 'backup' });
  const bus = await openBus(natsUrl, { name: 'backup', log });
  const redis = await connectRedis(redisUrl, { name: 'backup', onError: (err) => log.warn({ err }, 'Redis failed') });
  try {
    await use({ bus, database, redis, clipsDir, replicas });
  } finally {
    redis.destroy();
    await bus.close();
    await database.close();
  }
}
