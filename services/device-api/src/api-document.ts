import { createOpenApiDocument } from '@fleet/service-kit';
import type { RateLimits } from './access/rate-limits.ts';
import { loadConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { deviceErrorTexts, requestExamples } from './request-examples.ts';
import { deviceApiRoutes } from './routes/index.ts';
import { apiErrorSchema } from './routes/responses.ts';
import { sendInstruct } from './routes/send-instruct.ts';
import { videoRoutes } from './video-routes/index.ts';

export const apiBasePath = '/api/v1';
/** Path of the vendor hub. */
export const partnerBasePath = '/api/device';

// Rows are declared, never called: they use the settings only.
const createDeclarationDeps = (): Deps => ({ config: loadConfig({ HOST: '127.0.0.1' }) }) as Deps;

const sharedRemarks = [
  'Unknown query parameters and body fields are ignored; a parameter that is given more than once is 400.',
  'A number consists of digits: no blanks, no exponent, no leading zeros.',
  'Every 4xx and 5xx response has the body `ApiError`, except 503 of the health endpoints.',
  'Every response carries `X-Request-Id`. 429 carries `Retry-After`, in seconds.',
].join(' ');

/** Returns the OpenAPI document of the Device API; it is the same for every configuration. */
export const createApiDocument = (): Record<string, unknown> =>
  createOpenApiDocument(
    {
      title: 'Device API',
      version: '1.0.0',
      description: [
        'Device and camera control: health, wake-up, commands, live video, recorded video, clip upload.',
        sharedRemarks,
        "Times are RFC 3339 date-times in any UTC offset; a `+` must be sent as `%2B` in the query string. Fractions of a second are dropped. Responses use the offset of the camera's clock.",
        'Integers of the format `uint64` have up to 20 digits and are exact in both directions. A parser with floating-point numbers rounds them.',
      ].join('\n\n'),
      basePath: apiBasePath,
      tags: {
        Utilities: 'Health, wake-up, commands and texts to a device.',
        'Realtime playback': 'Live video of a camera as HTTP-FLV.',
        'History playback': 'Recordings of a camera: listing them, and playing them as HTTP-FLV.',
        'Video upload': 'Recorded clips that a camera uploads, and their state.',
      },
      errorSchema: apiErrorSchema,
      exampleValues: requestExamples,
      errorTexts: deviceErrorTexts,
    },
    deviceApiRoutes(createDeclarationDeps()),
  );

/** Returns the OpenAPI document of the partner command channel. */
export const createPartnerDocument = (): Record<string, unknown> =>
  createOpenApiDocument(
    {
      title: 'Partner command channel',
      version: '1.0.0',
      description:
        "The command channel of the vendor hub, served with PARTNER_COMMAND_ENABLED=true: a partner's clients command the terminals of the partner's account with a partner token.",
      basePath: partnerBasePath,
      tags: {
        'Partner commands': 'Commands to devices in the format of the vendor hub.',
      },
      errorSchema: apiErrorSchema,
      exampleValues: requestExamples,
      errorTexts: deviceErrorTexts,
    },
    [sendInstruct(createDeclarationDeps(), {} as RateLimits)],
  );

/** Returns the OpenAPI document of the video service. */
export const createVideoDocument = (): Record<string, unknown> =>
  createOpenApiDocument(
    {
      title: 'Video service',
      version: '1.0.0',
      description: ['The Device API with the device number in the path.', sharedRemarks].join('\n\n'),
      basePath: '',
      tags: {
        'Video service': 'Video of a device, with its number in the path.',
        Guests: 'Live video of a share link, for readers without an account.',
      },
      errorSchema: apiErrorSchema,
      exampleValues: requestExamples,
      errorTexts: deviceErrorTexts,
    },
    videoRoutes(createDeclarationDeps()),
  );
