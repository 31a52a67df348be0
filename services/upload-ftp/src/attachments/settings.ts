import type { EnvSchema } from '@fleet/service-kit';

const durationMs = { type: 'integer', minimum: 1, maximum: 86_400_000 } as const;
const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;
const count = { type: 'integer', minimum: 1, maximum: 100_000 } as const;
const bytes = { type: 'integer', minimum: 1 } as const;

/** Settings of the server for attachments of alarms. */
export const attachmentSettings = {
  ATTACHMENT_PORT: { ...port, default: 7077, description: 'port for attachments of alarms; 0 picks a free one' },
  ATTACHMENT_PUBLIC_HOST: {
    type: 'string',
    optional: true,
    minLength: 1,
    description: 'address for attachments that terminals are told; FTP_PUBLIC_HOST when absent',
  },
  ATTACHMENT_PUBLIC_PORT: {
    ...port,
    minimum: 1,
    optional: true,
    description: 'port for attachments that terminals are told; ATTACHMENT_PORT when absent',
  },
  ATTACHMENT_MAX_CONNECTIONS: { ...count, default: 2_000, description: 'connections for attachments at a time' },
  ATTACHMENT_CONNECTIONS_PER_ADDRESS: {
    ...count,
    minimum: 0,
    default: 0,
    description: 'most of them from one remote address, 0 = no limit; carriers put thousands behind one address',
  },
  ATTACHMENT_LOGIN_LIMIT_MS: {
    ...durationMs,
    default: 30_000,
    description: 'a connection without a list (0x1210) that is expected is closed after this',
  },
  ATTACHMENT_IDLE_MS: { ...durationMs, default: 120_000, description: 'a connection without a byte is closed' },
  ATTACHMENT_RESUME_MS: {
    ...durationMs,
    default: 600_000,
    description: 'how long what came of a file is kept for its terminal to come back',
  },
  ATTACHMENT_STOP_GRACE_MS: { ...durationMs, default: 10_000, description: 'for attachments under way at a stop' },
  ATTACHMENT_MAX_FILES: { ...count, maximum: 255, default: 64, description: 'files of one alarm' },
  ATTACHMENT_MAX_FILE_BYTES: {
    ...bytes,
    maximum: 4_294_967_295,
    default: 256 * 1024 ** 2,
    description: 'bytes of one attachment',
  },
  ATTACHMENT_MAX_ALARM_BYTES: { ...bytes, default: 1024 ** 3, description: 'bytes of all attachments of one alarm' },
  ATTACHMENT_MAX_OPEN_FILES: {
    ...count,
    default: 1_000,
    description: 'attachments of which something has come and something is missing',
  },
  ATTACHMENT_SWEEP_MS: { ...durationMs, default: 60_000, description: 'between two looks at what is over' },
} as const satisfies EnvSchema;
