import { createLogger } from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { RecordStore } from '../store/record-store.ts';
import { type Config, loadConfig } from './config.ts';

/**
 * Runs a command line tool against the database of the service's settings. Prints an error as one sentence on standard
 * error.
 */
export async function runTool(
  tool: (records: RecordStore, database: Database, config: Config) => Promise<string>,
): Promise<void> {
  try {
    const config = loadConfig(process.env);
    const database = openDatabase(config.MONGODB_URL, { appName: 'platform-api-tool' });
    try {
      process.stdout.write(`${await tool(new RecordStore(database), database, config)}\n`);
    } finally {
      await database.close();
    }
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    createLogger('platform-api', process.env['LOG_LEVEL'] ?? 'silent').error(
      { err: error },
      'command-line tool failed',
    );
    process.exitCode = 1;
  }
}
