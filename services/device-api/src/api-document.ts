import { createOpenApiDocument } from '@fleet/service-kit';
import type { RateLimits } from './access/rate-limits.ts';
import { loadConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { apiErrorSchema } from './routes/answers.ts';
import { deviceApiRoutes } from './routes/index.ts';
import { sendInstruct } from './routes/send-instruct.ts';
import { videoRoutes } from './video-routes/index.ts';

export const apiBasePath = '/api/v1';
/** As the vendor hub has it. */
export const partnerBasePath = '/api/device';

// Rows are declared, never called: nothing but the settings is looked at.
const declared = (): Deps => ({ config: loadConfig({ HOST: '127.0.0.1' }) }) as Deps;

const shared = [
  'Unknown query parameters and body fields are ignored; a parameter that is given more than once is 400.',
  'A number is written in digits alone: no blanks, no exponent, no leading zeros.',
  'Every 4xx and 5xx answer has the body `ApiError`, except where the health endpoints answer 503 with their own.',
  'Every answer carries `X-Request-Id`. 429 carries `Retry-After`, in seconds.',
].join(' ');

/** The OpenAPI document of the Device API; the same for every configuration. */
export const apiDocument = (): Record<string, unknown> =>
  createOpenApiDocument(
    {
      title: 'Device API',
      version: '1.0.0',
      description: [
        'Device and camera control: health, wake-up, commands, live video, recorded video, clip upload.',
        shared,
        "Times are RFC 3339 date-times in any UTC offset; a `+` must be sent as `%2B` in the query string. Fractions of a second are dropped. Answers show times in the offset of the camera's clock.",
        'Integers of the format `uint64` have up to 20 digits and are exact in both directions: a reader that keeps them as floating point rounds them.',
      ].join('\n\n'),
      basePath: apiBasePath,
      tags: {
        Utilities: 'Health, wake-up, commands and texts to a device.',
        'Realtime playback': 'Live video of a camera as HTTP-FLV.',
        'History playback': 'What a camera has recorded: listing it, and playing it as HTTP-FLV.',
        'Video upload': 'Recorded clips that a camera uploads, and what becomes of them.',
      },
      errorSchema: apiErrorSchema,
    },
    deviceApiRoutes(declared()),
  );

/** The OpenAPI document of the partner command channel. */
export const partnerDocument = (): Record<string, unknown> =>
  createOpenApiDocument(
    {
      title: 'Partner command channel',
      version: '1.0.0',
      description:
        "The command channel of the vendor hub, served with PARTNER_COMMAND_ENABLED=true: a partner's clients command the terminals of the partner's account with a partner token.",
      basePath: partnerBasePath,
      tags: { 'Partner commands': 'Commands to devices in the shape of the vendor hub.' },
      errorSchema: apiErrorSchema,
    },
    [sendInstruct(declared(), {} as RateLimits)],
  );

/** The OpenAPI document of the video service. */
export const videoDocument = (): Record<string, unknown> =>
  createOpenApiDocument(
    {
      title: 'Video service',
      version: '1.0.0',
      description: ['The Device API by the number of a device in the path.', shared].join('\n\n'),
      basePath: '',
      tags: { 'Video service': 'Video of a device whose number stands in the path.' },
      errorSchema: apiErrorSchema,
    },
    videoRoutes(declared()),
  );
