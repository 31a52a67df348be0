import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { streamEnv } from '@fleet/bus';
import {
  adminSettings,
  ConfigError,
  type ConfigOf,
  commonEnv,
  dayMs,
  envSchema,
  findSecretFault,
  invalidConfigError,
  parseProxyNetworks,
  proxyProtocolSettings,
  readEnv,
} from '@fleet/service-kit';
import { attachmentSettings } from './attachments/settings.ts';
import { clipSettingFaults, clipSettings } from './clips/settings.ts';
import { previewSettings } from './previews/settings.ts';
import { liveSettings } from './recordings/settings.ts';

const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;
const durationMs = { type: 'integer', minimum: 1, maximum: 366 * dayMs } as const;
const bytes = { type: 'integer', minimum: 0 } as const;
const minute = 60_000;
const day = 24 * 60 * minute;

/** All settings of the service. The tables in the README list the same. */
export const schema = envSchema({
  ...commonEnv,
  HTTP_PORT: { ...port, default: 8086, description: 'port of clips and files; 0 picks a free one' },
  ...adminSettings(8093),
  ...proxyProtocolSettings,
  UPLOAD_HTTP_URL: {
    type: 'string',
    optional: true,
    pattern: '^https?://',
    description: "this pod's own HTTP base URL for device-api; http://HOST:HTTP_PORT if absent",
  },
  CLIPS_DIR: { type: 'string', default: '.data/clips', minLength: 1, description: 'directory of the clips' },
  FTP_PORT: { ...port, default: 2121, description: 'control port of the FTP server; 0 picks a free one' },
  FTP_PUBLIC_HOST: {
    type: 'string',
    default: '127.0.0.1',
    minLength: 1,
    description: 'address of this pod sent to cameras, also for passive transfers',
  },
  FTP_PUBLIC_PORT: {
    ...port,
    minimum: 1,
    optional: true,
    description: 'port sent to cameras; FTP_PORT if absent',
  },
  FTP_PASV_MIN: { ...port, minimum: 1, default: 30_000, description: 'first passive port' },
  FTP_PASV_MAX: { ...port, minimum: 1, default: 30_099, description: 'last passive port' },
  FTP_MAX_CONNECTIONS: {
    type: 'integer',
    minimum: 1,
    default: 1_000,
    description: 'limit on concurrent control connections',
  },
  FTP_TLS_CERT_FILE: {
    type: 'string',
    optional: true,
    description: 'PEM certificate chain; enables AUTH TLS',
  },
  FTP_TLS_KEY_FILE: { type: 'string', optional: true, description: 'PEM key of the certificate' },
  FTP_TLS_REQUIRED: { type: 'boolean', default: false, description: 'refuses logins without AUTH TLS' },
  FTP_LOGIN_TIMEOUT_MS: {
    formerName: 'FTP_LOGIN_LIMIT_MS',
    ...durationMs,
    default: minute,
    description: 'a connection without a login is closed after this time',
  },
  FTP_CONTROL_IDLE_MS: {
    ...durationMs,
    default: 5 * minute,
    description: 'a control connection without commands and transfers is closed after this time',
  },
  FTP_DATA_IDLE_MS: {
    ...durationMs,
    default: minute,
    description: 'a transfer that receives no data is aborted after this time',
  },
  FTP_DATA_CONNECT_MS: { ...durationMs, default: 10_000, description: 'wait for a data connection before 425 is sent' },
  FTP_LOST_CONTROL_GRACE_MS: {
    ...durationMs,
    default: 2_000,
    description: 'wait for data in transit after the control connection closes',
  },
  FTP_STOP_GRACE_MS: { ...durationMs, default: 25_000, description: 'wait for running transfers at a stop' },
  MAX_CLIP_BYTES: { ...bytes, minimum: 1, default: 10 * 1024 ** 3, description: 'size limit of one upload in bytes' },
  MAX_CLIP_FILES: {
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    default: 100,
    description: 'limit on files of one upload, and on its directories',
  },
  CLIPS_MIN_FREE_BYTES: {
    ...bytes,
    default: 256 * 1024 ** 2,
    description: 'with less free space, no upload is granted, and pictures wait in EVENTS',
  },
  UPLOAD_CREDENTIAL_MS: { ...durationMs, default: 30 * day, description: 'validity of a credential' },
  UPLOAD_SILENCE_MS: {
    ...durationMs,
    default: 10 * minute,
    description: 'an upload fails after this time without data while the device is connected',
  },
  UPLOAD_TIMEOUT_MS: {
    formerName: 'UPLOAD_PATIENCE_MS',
    ...durationMs,
    default: day,
    description: 'an upload fails without any data this long after the request',
  },
  UPLOAD_PAUSED_MS: { ...durationMs, default: 7 * day, description: 'an upload fails when paused for this long' },
  UPLOAD_UNCONFIRMED_MS: {
    ...durationMs,
    default: 10 * minute,
    description: 'wait for 0x1206 after a clean close, or for whole files after 0x1206',
  },
  UPLOAD_SWEEP_MS: { ...durationMs, default: 30_000, description: 'interval of checking all uploads, by one replica' },
  UPLOAD_ORPHANS_MS: {
    ...durationMs,
    default: 10 * minute,
    description: 'interval of searching for files that belong to no upload',
  },
  DEVICE_REPLY_TIMEOUT_MS: { ...durationMs, default: 90_000, description: 'wait for a recording list (0x9205)' },
  ...streamEnv,
  ...clipSettings,
  ...liveSettings,
  ...previewSettings,
  ...attachmentSettings,
});

export type Config = ConfigOf<typeof schema>;

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readEnv(schema, env);
  parseProxyNetworks(config.PROXY_PROTOCOL_NETWORKS);
  const problems: string[] = [];
  if (config.FTP_PASV_MIN > config.FTP_PASV_MAX) problems.push('FTP_PASV_MIN is greater than FTP_PASV_MAX');
  if ((config.FTP_TLS_CERT_FILE === undefined) !== (config.FTP_TLS_KEY_FILE === undefined))
    problems.push('FTP_TLS_CERT_FILE and FTP_TLS_KEY_FILE must be set together');
  if (config.FTP_TLS_REQUIRED && config.FTP_TLS_CERT_FILE === undefined)
    problems.push('FTP_TLS_REQUIRED requires FTP_TLS_CERT_FILE and FTP_TLS_KEY_FILE');
  problems.push(...clipSettingFaults(config));
  const { default: developmentSecret, minLength } = liveSettings.MEDIA_SIGNING_SECRET;
  const rules = { minLength, developmentSecret, isProduction: config.NODE_ENV === 'production' };
  const fault = findSecretFault('MEDIA_SIGNING_SECRET', config.MEDIA_SIGNING_SECRET, rules);
  if (fault !== undefined) problems.push(fault);
  if (problems.length > 0) throw invalidConfigError(problems);
  return config;
}

/** Reads the configured certificate and key, or returns null without them. Throws a ConfigError if they are invalid. */
export function readTls(config: Config): { cert: Buffer; key: Buffer } | null {
  const { FTP_TLS_CERT_FILE: certFile, FTP_TLS_KEY_FILE: keyFile } = config;
  if (certFile === undefined || keyFile === undefined) return null;
  const read = (name: string, file: string): Buffer => {
    try {
      return readFileSync(file);
    } catch (cause) {
      throw new ConfigError(`${name} cannot be read: ${(cause as Error).message}`, { cause });
    }
  };
  const [cert, key] = [read('FTP_TLS_CERT_FILE', certFile), read('FTP_TLS_KEY_FILE', keyFile)];
  let isPair: boolean;
  try {
    isPair = new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch (cause) {
    throw new ConfigError('FTP_TLS_CERT_FILE and FTP_TLS_KEY_FILE are not a PEM certificate and key.', { cause });
  }
  if (!isPair) throw new ConfigError('FTP_TLS_KEY_FILE is not the key of FTP_TLS_CERT_FILE.');
  return { cert, key };
}
