import { createLogger, runService } from '@fleet/service-kit';
import { loadConfig } from './assembly/config.ts';
import { create } from './assembly/service.ts';

const log = createLogger('platform-api', process.env['LOG_LEVEL']);
await runService(log, () => create(loadConfig(process.env), { log }));
