import { createLogger, runService } from '@fleet/service-kit';
import { loadConfig } from './config.ts';
import { create } from './service.ts';

const log = createLogger('jt1078-media', process.env['LOG_LEVEL']);
await runService(log, async () => create(loadConfig(process.env), { log }));
