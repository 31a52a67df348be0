import { aacSampleRates } from '@fleet/jt1078';
import { ConfigError, type ConfigOf, commonEnv, envSchema, readEnv } from '@fleet/service-kit';

const portSetting = (fallback: number, description: string) =>
  ({ type: 'integer', minimum: 0, maximum: 65_535, default: fallback, description }) as const;
const durationSetting = (fallback: number, description: string) =>
  ({ type: 'integer', minimum: 1, default: fallback, description }) as const;

/** One entry of MEDIA_AAC_FORMATS: a model or number, then a sample rate of AAC and the channels. */
const aacFormatPattern = `[^=,]+=(${aacSampleRates.join('|')})/[12]`;

const { MONGODB_URL: _unused, ...sharedEnv } = commonEnv;

export const schema = envSchema({
  ...sharedEnv,
  HTTP_PORT: portSetting(8085, 'port of HTTP-FLV, health and metrics; 0 picks a free one'),
  MEDIA_LIVE_PORT: portSetting(7078, 'JT/T 1078 live video, TCP and UDP; 0 picks a free one'),
  MEDIA_HISTORY_PORT: portSetting(7079, 'JT/T 1078 playback, TCP and UDP; 0 picks a free one'),
  MEDIA_HTTP_URL: {
    type: 'string',
    optional: true,
    pattern: '^https?://',
    description: "this pod's own base URL, as other services reach it; http://HOST:HTTP_PORT when absent",
  },
  MEDIA_SIGNING_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    minLength: 16,
    description:
      'key of the signatures in stream URLs, shared with device-api; required unless MEDIA_ACCEPT_UNSOLICITED',
  },
  MEDIA_ACCEPT_UNSOLICITED: {
    type: 'boolean',
    default: false,
    description: 'takes cameras nobody asked for and viewers without signature: for benchmarks, refused in production',
  },
  MEDIA_CORS_ORIGIN: {
    type: 'string',
    optional: true,
    description: 'Access-Control-Allow-Origin of stream responses; none when absent',
  },
  FFMPEG_PATH: { type: 'string', default: 'ffmpeg', description: 'ffmpeg, for sound that browsers cannot play' },
  MEDIA_MAX_TRANSCODERS: {
    type: 'integer',
    minimum: 0,
    default: 32,
    description: 'ffmpeg processes at once (about 55 MB each); streams beyond play without sound',
  },
  MEDIA_AAC_FORMATS: {
    type: 'string',
    optional: true,
    pattern: `^${aacFormatPattern}(,${aacFormatPattern})*$`,
    description:
      'AAC without ADTS by terminal model or number, as MODEL=rate/channels, separated by commas; wins over 0x1003',
  },
  MEDIA_IDLE_STOP_MS: durationSetting(60_000, 'a stream without viewers for so long is stopped'),
  MEDIA_GRACE_MS: durationSetting(10_000, "how long viewers wait for a live camera's reconnect"),
  MEDIA_DATA_TIMEOUT_MS: durationSetting(30_000, 'a stream without data for so long, while not paused, has ended'),
  MEDIA_SILENT_LIMIT_MS: durationSetting(30_000, 'a connection without a valid packet for so long is closed'),
  MEDIA_FIRST_FRAME_WAIT_MS: durationSetting(9_000, "how long a viewer waits for a stream's first picture; then 502"),
  MEDIA_LIVE_DROP_AFTER_MS: durationSetting(3_000, 'a live viewer so far behind loses frames up to the next key frame'),
  MEDIA_LIVE_CLOSE_AFTER_MS: durationSetting(10_000, 'a live viewer that takes nothing for so long is closed'),
  MEDIA_HISTORY_CLOSE_AFTER_MS: durationSetting(
    60_000,
    'a viewer of a recording that takes nothing for so long is closed',
  ),
});

export type Config = ConfigOf<typeof schema>;

/** Reads the settings; those that contradict each other are refused as well. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const config = readEnv(schema, env);
  if (config.MEDIA_ACCEPT_UNSOLICITED && config.NODE_ENV === 'production')
    throw new ConfigError('MEDIA_ACCEPT_UNSOLICITED is for benchmarks only and is refused with NODE_ENV=production.');
  if (config.MEDIA_SIGNING_SECRET === undefined && !config.MEDIA_ACCEPT_UNSOLICITED)
    throw new ConfigError('MEDIA_SIGNING_SECRET is required (the same as that of device-api).');
  return config;
}
