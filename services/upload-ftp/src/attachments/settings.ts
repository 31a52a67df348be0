import { dayMs, type EnvSchema } from '@fleet/service-kit';

const durationMs = { type: 'integer', minimum: 1, maximum: dayMs } as const;
const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;
const count = { type: 'integer', minimum: 1, maximum: 100_000 } as const;
const bytes = { type: 'integer', minimum: 1 } as const;

/** Settings of the attachment server. */
export const attachmentSettings = {
  ATTACHMENT_PORT: { ...port, default: 7077, description: 'port for attachments of alarms; 0 picks a free one' },
  ATTACHMENT_PUBLIC_HOST: {
    type: 'string',
    optional: true,
    minLength: 1,
    description: 'attachment address sent to terminals; FTP_PUBLIC_HOST if absent',
  },
  ATTACHMENT_PUBLIC_PORT: {
    ...port,
    minimum: 1,
    optional: true,
    description: 'attachment port sent to terminals; ATTACHMENT_PORT if absent',
  },
  ATTACHMENT_MAX_CONNECTIONS: { ...count, default: 2_000, description: 'limit on concurrent attachment connections' },
  ATTACHMENT_CONNECTIONS_PER_ADDRESS: {
    ...count,
    minimum: 0,
    default: 0,
    description:
      'limit on connections from one remote address, 0 = no limit; carriers put thousands behind one address',
  },
  ATTACHMENT_LOGIN_TIMEOUT_MS: {
    formerName: 'ATTACHMENT_LOGIN_LIMIT_MS',
    ...durationMs,
    default: 30_000,
    description: 'a connection without an accepted list (0x1210) is closed after this time',
  },
  ATTACHMENT_IDLE_MS: {
    ...durationMs,
    default: 120_000,
    description: 'a connection that receives no data is closed after this time',
  },
  ATTACHMENT_RESUME_MS: {
    ...durationMs,
    default: 600_000,
    description: 'how long incomplete files are retained for a terminal to reconnect',
  },
  ATTACHMENT_STOP_GRACE_MS: {
    ...durationMs,
    default: 10_000,
    description: 'wait for attachments in transfer at a stop',
  },
  ATTACHMENT_MAX_FILES: { ...count, maximum: 255, default: 64, description: 'limit on files of one alarm' },
  ATTACHMENT_MAX_FILE_BYTES: {
    ...bytes,
    maximum: 4_294_967_295,
    default: 256 * 1024 ** 2,
    description: 'size limit of one attachment in bytes',
  },
  ATTACHMENT_MAX_ALARM_BYTES: {
    ...bytes,
    default: 1024 ** 3,
    description: 'size limit of all attachments of one alarm in bytes',
  },
  ATTACHMENT_MAX_OPEN_FILES: {
    ...count,
    default: 1_000,
    description: 'limit on incomplete attachments with received data',
  },
  ATTACHMENT_SWEEP_MS: { ...durationMs, default: 60_000, description: 'interval of deleting expired data' },
} as const satisfies EnvSchema;
