import { aacSampleRates } from '@fleet/jt1078';
import {
  adminSettings,
  ConfigError,
  type ConfigOf,
  commonEnv,
  envSchema,
  findSecretFault,
  parseProxyNetworks,
  proxyProtocolSettings,
  readEnv,
} from '@fleet/service-kit';

const portSetting = (fallback: number, description: string) =>
  ({ type: 'integer', minimum: 0, maximum: 65_535, default: fallback, description }) as const;
const durationSetting = (fallback: number, description: string) =>
  ({ type: 'integer', minimum: 1, default: fallback, description }) as const;

/** One entry of MEDIA_AAC_FORMATS: a model or number, then an AAC sample rate and the number of channels. */
const aacFormatPattern = `[^=,]+=(${aacSampleRates.join('|')})/[12]`;

const { MONGODB_URL: _unused, ...sharedEnv } = commonEnv;

export const schema = envSchema({
  ...sharedEnv,
  HTTP_PORT: portSetting(8085, 'port of HTTP-FLV, HLS and MP4; 0 selects a free port'),
  ...adminSettings(8092),
  MEDIA_LIVE_PORT: portSetting(7078, 'JT/T 1078 live video, TCP and UDP; 0 selects a free port'),
  MEDIA_HISTORY_PORT: portSetting(7079, 'JT/T 1078 playback, TCP and UDP; 0 selects a free port'),
  MEDIA_TALK_PORT: portSetting(7090, 'JT/T 1078 talk, TCP and UDP; 0 selects a free port'),
  ...proxyProtocolSettings,
  MEDIA_HTTP_URL: {
    type: 'string',
    optional: true,
    pattern: '^https?://',
    description: 'base URL of this pod for other services; http://HOST:HTTP_PORT when absent',
  },
  MEDIA_SIGNING_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    minLength: 16,
    description:
      'key of the signatures in stream URLs, shared with device-api; several, separated by commas: all verify; required unless MEDIA_ACCEPT_UNSOLICITED',
  },
  MEDIA_ACCEPT_UNSOLICITED: {
    type: 'boolean',
    default: false,
    description: 'accept unsolicited cameras and unsigned stream URLs; for benchmarks, rejected in production',
  },
  MEDIA_CORS_ORIGIN: {
    type: 'string',
    optional: true,
    description: 'Access-Control-Allow-Origin of stream responses; none when absent',
  },
  FFMPEG_PATH: { type: 'string', default: 'ffmpeg', description: 'ffmpeg binary, for audio that browsers cannot play' },
  MEDIA_MAX_TRANSCODERS: {
    type: 'integer',
    minimum: 0,
    default: 32,
    description: 'maximum number of concurrent ffmpeg processes (about 55 MB each); further streams play without audio',
  },
  MEDIA_AAC_FORMATS: {
    type: 'string',
    optional: true,
    pattern: `^${aacFormatPattern}(,${aacFormatPattern})*$`,
    description:
      'AAC without ADTS by terminal model or number, as MODEL=rate/channels, separated by commas; overrides 0x1003',
  },
  MEDIA_IDLE_STOP_MS: durationSetting(60_000, 'time without viewers after which a stream is stopped'),
  MEDIA_GRACE_MS: durationSetting(10_000, 'time that viewers wait for the reconnect of a live camera'),
  MEDIA_DATA_TIMEOUT_MS: durationSetting(30_000, 'time without data after which an unpaused stream ends'),
  MEDIA_USAGE_REPORT_MS: durationSetting(5_000, 'interval of the reports of received bytes; a crash loses as much'),
  MEDIA_SILENCE_TIMEOUT_MS: {
    ...durationSetting(30_000, 'time without a valid packet after which a connection is closed'),
    formerName: 'MEDIA_SILENT_LIMIT_MS',
  },
  MEDIA_FIRST_FRAME_WAIT_MS: durationSetting(
    9_000,
    'time that a viewer waits for the first picture of a stream before a 502',
  ),
  MEDIA_LIVE_DROP_AFTER_MS: durationSetting(
    3_000,
    'lag above which a live viewer loses frames up to the next key frame',
  ),
  MEDIA_LIVE_CLOSE_AFTER_MS: durationSetting(10_000, 'time without progress after which a live viewer is disconnected'),
  MEDIA_HISTORY_CLOSE_AFTER_MS: durationSetting(
    60_000,
    'time without progress after which a viewer of a recording is disconnected',
  ),
});

export type Config = ConfigOf<typeof schema>;

/** Reads the settings. Throws ConfigError when they are invalid or contradict each other. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const config = readEnv(schema, env);
  parseProxyNetworks(config.PROXY_PROTOCOL_NETWORKS);
  if (config.MEDIA_ACCEPT_UNSOLICITED && config.NODE_ENV === 'production')
    throw new ConfigError('MEDIA_ACCEPT_UNSOLICITED is for benchmarks only and is refused with NODE_ENV=production.');
  if (config.MEDIA_SIGNING_SECRET === undefined && !config.MEDIA_ACCEPT_UNSOLICITED)
    throw new ConfigError('MEDIA_SIGNING_SECRET is required (the same as that of device-api).');
  if (config.MEDIA_SIGNING_SECRET !== undefined) {
    const rules = { minLength: 16, isProduction: config.NODE_ENV === 'production' };
    const fault = findSecretFault('MEDIA_SIGNING_SECRET', config.MEDIA_SIGNING_SECRET, rules);
    if (fault !== undefined) throw new ConfigError(fault);
  }
  return config;
}
