import { createLogger } from '@fleet/service-kit';
import { runTool } from './assembly/command-line.ts';
import { migrations } from './assembly/migrations.ts';
import { loadTollGates } from './domains/toll-gates/load-toll-gates.ts';
import { migrate } from './store/migrate.ts';

/** Migrates the database of MONGODB_URL to the state that this release needs. Runs as a job before a roll-out. */
await runTool(async (records, database) => {
  const log = createLogger('platform-api', process.env['LOG_LEVEL']);
  await migrate(database, log, migrations);
  await loadTollGates({ database, records, log }, process.env['TOLL_GATES_FILE'] || undefined);
  return 'the database is up to date';
});
