import { createLogger } from '@fleet/service-kit';
import { runTool } from './assembly/command-line.ts';
import { migrations } from './assembly/migrations.ts';
import { loadTollGates } from './domains/toll-gates/load-file.ts';
import { migrate } from './store/migrate.ts';

/** The job before a roll-out: brings the database of MONGODB_URL to where this release needs it. */
await runTool(async (records, database) => {
  const log = createLogger('platform-api', process.env['LOG_LEVEL']);
  await migrate(database, log, migrations);
  await loadTollGates({ database, records, log }, process.env['TOLL_GATES_FILE'] || undefined);
  return 'the database is up to date';
});
