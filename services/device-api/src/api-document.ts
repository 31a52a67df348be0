import { openApiDocument } from '@fleet/service-kit';
import { loadConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { apiErrorSchema } from './routes/answers.ts';
import { deviceApiRoutes } from './routes/index.ts';
import { videoRoutes } from './video-routes/index.ts';

export const apiBasePath = '/api/v1';

// Rows are declared, never called: nothing but the settings is looked at.
const declared = (): Deps => ({ config: loadConfig({ HOST: '127.0.0.1' }) }) as Deps;

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
    deviceApiRoutes(declared()),
  );

/** The OpenAPI document of the video service. */
export const videoDocument = (): Record<string, unknown> =>
  openApiDocument(
    {
      title: 'Video service',
      version: '1.0.0',
      description:
        'Live video of a device by its number in the path. Unknown parameters and fields are ignored. Every error carries the body `Error`.',
      basePath: '',
      errorSchema: apiErrorSchema,
    },
    videoRoutes(declared()),
  );
