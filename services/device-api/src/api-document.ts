import { openApiDocument } from '@fleet/service-kit';
import { loadConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { apiErrorSchema } from './routes/answers.ts';
import { deviceApiRoutes } from './routes/index.ts';

export const apiBasePath = '/api/v1';

/** The OpenAPI document of the Device API; the same for every configuration. */
export const apiDocument = (): Record<string, unknown> =>
  openApiDocument(
    {
      title: 'Device API',
      version: '1.0.0',
      description:
        'Device and camera control: health, wake-up, live video. Unknown query parameters are ignored. Every error carries the body `Error`.',
      basePath: apiBasePath,
      errorSchema: apiErrorSchema,
    },
    // Rows are declared, never called: nothing but the settings is looked at.
    deviceApiRoutes({ config: loadConfig({ HOST: '127.0.0.1' }) } as Deps),
  );
