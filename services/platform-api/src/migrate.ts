import { createLogger } from '@fleet/service-kit';
import { runTool } from './command-line.ts';
import { migrate } from './store/migrations.ts';

/** The job before a roll-out: brings the database of MONGODB_URL to where this release needs it. */
await runTool(async (_records, database) => {
  await migrate(database, createLogger('platform-api', process.env['LOG_LEVEL']));
  return 'the database is up to date';
});
