import { AppError } from '@fleet/service-kit';
import { Type } from 'typebox';
import { describeTimeError, parseTimestamp } from '../domain/camera-time.ts';

/** Returns the schema of an integer enum; the description explains each value. */
export const choiceSchema = (values: readonly number[], options: { description: string; default?: number }) =>
  Type.Integer({ enum: values, ...options });

export const imei = Type.String({
  pattern: '^(?!0+$)([0-9]{12}|[0-9]{20})$',
  errorMessage: 'must be a terminal number of 12 or 20 digits, not all zeros',
  description: 'Terminal number, 12 or 20 digits; both forms of one number are the same device.',
  examples: ['013800138000'],
});

export const channel = Type.Integer({
  minimum: 0,
  maximum: 255,
  description: 'Camera channel, starting at 1.',
  examples: [1],
});

export const host = Type.String({
  pattern: '^[A-Za-z0-9._:-]{1,253}$',
  errorMessage: 'must be a host name or an IP address',
  description: "Media server that the camera streams to; by default this server's.",
  examples: ['media.example.com'],
});

const portSchema = (description: string, example: number) =>
  Type.Integer({ minimum: 0, maximum: 65_535, description, examples: [example] });

export const tcpPort = portSchema(
  "TCP port of that media server; by default this server's. 0: no TCP, so that the camera uses udp_port.",
  7078,
);

export const udpPort = portSchema(
  "UDP port of that media server. Default: 0 (no UDP), or this server's if tcp_port is 0.",
  0,
);

export const dataType = choiceSchema([0, 1, 2, 3, 4, 5], {
  default: 0,
  description:
    '0 audio and video, 1 video only, 2 two-way intercom, 3 listen-in (monitoring), 4 central broadcast, 5 transparent transmission.',
});

export const realtimeStreamTypeSchema = (description: string) => choiceSchema([0, 1], { default: 0, description });

/** Returns the schema of a time as text; `instant` converts a validated one. */
export const timeSchema = (description: string, example = '2026-08-01T10:00:00+08:00') =>
  Type.String({
    format: 'date-time',
    // Ajv's date-time also accepts a space instead of T.
    pattern: '^\\d{4}-\\d\\d-\\d\\d[Tt][0-9:.]+([Zz]|[+-]\\d\\d:\\d\\d)$',
    errorMessage: (text: unknown) => describeTimeError(String(text)),
    description: `${description} RFC 3339 in any offset; a + in it must be sent as %2B. Fractions of a second are dropped; 2000 to 2099 on the camera's clock.`,
    examples: [example],
  });

/** Returns the timestamp of a time parameter, in ms. */
export function parseTimeParameter(name: string, text: string): number {
  const timestampMs = parseTimestamp(text);
  // Our calendar is stricter than the schema's.
  if (timestampMs === undefined)
    throw new AppError('validation_failed', `The parameter ${name} ${describeTimeError(text)}.`);
  return timestampMs;
}

export const startTime = timeSchema('Start of the span; before end_time.');
export const endTime = timeSchema('End of the span.', '2026-08-01T11:00:00+08:00');

/** Content of recordings. `start-stream` requires it; elsewhere the default is 3. */
export const resourceType = choiceSchema([0, 1, 2, 3], {
  description: '0 audio and video, 1 audio only, 2 video only, 3 video with or without audio.',
});
export const resourceTypeOrAny = choiceSchema([0, 1, 2, 3], {
  default: 3,
  description: '0 audio and video, 1 audio only, 2 video only, 3 video with or without audio.',
});
export const historyStreamType = choiceSchema([1, 2], {
  description: '1 main stream, 2 sub stream (other numbers than for live video).',
});
export const historyStreamTypeOrAny = choiceSchema([0, 1, 2], {
  default: 0,
  description: '0 any, 1 main stream, 2 sub stream (other numbers than for live video).',
});
export const memoryType = choiceSchema([1, 2], {
  description: '1 main storage, 2 backup (disaster-recovery) storage.',
});
export const memoryTypeOrAny = choiceSchema([0, 1, 2], {
  default: 0,
  description: '0 any storage, 1 main storage, 2 backup (disaster-recovery) storage.',
});

export const playbackSpeedSchema = (usage: string) =>
  choiceSchema([0, 1, 2, 3, 4, 5], {
    default: 0,
    description: `0 none (normal speed), 1 1x, 2 2x, 3 4x, 4 8x, 5 16x. ${usage}`,
  });

/** A bitmask of 64 bits: a bigint in code. */
export const alarm = Type.Unsafe<bigint>({
  type: 'integer',
  format: 'uint64',
  minimum: 0,
  default: 0,
  description:
    'Alarm flags, bitmask: bits 0 to 31 as in JT/T 808 location reports, bits 32 to 63 the video alarms of JT/T 1078. 0 means all.',
  examples: [0],
});

/** Query of every request about one device. */
export const deviceQuery = Type.Object({ imei });

/** Query of every request about one camera. */
export const cameraQuery = Type.Object({ imei, channel });
