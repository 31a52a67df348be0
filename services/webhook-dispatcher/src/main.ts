import { createLogger, runService } from '@fleet/service-kit';
import { loadConfig } from './config.ts';
import { create } from './service.ts';

const log = createLogger('webhook-dispatcher', process.env['LOG_LEVEL']);
await runService(log, () => create(loadConfig(process.env), { log }));
