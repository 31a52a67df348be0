import { type CaptureOptions, captureQualities } from '@fleet/bus';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { mediaResponseSchema } from '../media/schema.ts';

/** Statuses of a capture (docs/reference/video.md). */
const captureStatuses = ['pending', 'completed', 'failed', 'expired'] as const;
type CaptureStatus = (typeof captureStatuses)[number];

/** `terminal`: pictures of the terminal (0x8801). `stream`: recorded from live video. */
const captureMethods = ['terminal', 'stream'] as const;
type CaptureMethod = (typeof captureMethods)[number];

/**
 * Step of a pending capture: the terminal is being woken, then it is requested to take pictures, then live video is
 * recorded if it takes none; `arriving`: only the files are missing.
 */
export type CaptureStep = 'waking' | 'shooting' | 'recording' | 'arriving';

/** A file of a capture. */
export interface CapturedFile {
  /** Unique key of the file (`Media.mediaKey`). */
  readonly mediaKey: string;
  /** Id assigned by the terminal; null for recorded live video. */
  readonly multimediaId: number | null;
}

/** Pictures or a clip requested from a camera. It belongs to the account of the vehicle. */
export interface Capture extends AccountRecord {
  /** 24 hex digits. */
  readonly captureId: string;
  readonly vehicleId: number;
  /** Canonical terminal number. */
  readonly imei: string;
  readonly channelId: number;
  readonly kind: CaptureOptions['kind'];
  readonly quality: CaptureOptions['quality'];
  readonly count: number;
  readonly intervalSeconds: number;
  readonly durationSeconds: number;
  readonly hasAudio: boolean;
  readonly status: CaptureStatus;
  readonly method: CaptureMethod | null;
  readonly step: CaptureStep;
  /** `Command-Id` of the 0x8801: a retry after a crash joins the first one. */
  readonly commandId: string;
  /** Ids in the 0x0805; null without a list. */
  readonly multimediaIds: readonly number[] | null;
  readonly files: readonly CapturedFile[];
  /** Error code and sentence of a failed capture. */
  readonly errorCode: string | null;
  readonly error: string | null;
  readonly requestedBy: number | null;
  readonly requestedAt: Date;
  readonly expiresAt: Date;
  readonly completedAt: Date | null;
  /** The process that works on the capture. */
  readonly claimToken: string;
  /** Renewed by that process while it lives; afterwards another one takes over. */
  readonly leasedUntil: Date;
}

export const captureResponseSchema = Type.Object(
  {
    ...recordProperties,
    capture_id: Type.String({ pattern: '^[0-9a-f]{24}$' }),
    vehicle_id: recordId,
    channel_id: Type.Integer({ minimum: 0 }),
    kind: stringEnum(['photo', 'clip']),
    quality: stringEnum(captureQualities),
    status: stringEnum(captureStatuses, {
      description: 'pending: the files have not all arrived. expired: they did not arrive in 10 minutes.',
    }),
    method: nullable(
      stringEnum(captureMethods, {
        description: 'terminal: the terminal took pictures. stream: recorded from live video.',
      }),
    ),
    error: nullable(Type.String({ description: 'Reason of a failure, as a sentence.' })),
    requested_at: time,
    completed_at: nullable(time),
    media: Type.Array(mediaResponseSchema, {
      description: 'Files; empty for a caller who may not see recorded video.',
    }),
  },
  { title: 'Capture' },
);
export type CaptureResponse = Static<typeof captureResponseSchema>;

export const captureQuery = Type.Object({
  channel_id: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 255, alias: 'channelId', description: 'Camera channel; 1 by default.' }),
  ),
  quality: Type.Optional(
    Type.String({
      pattern: '^([Ll][Oo][Ww]|[Mm][Ee][Dd][Ii][Uu][Mm]|[Hh][Ii][Gg][Hh]|[Mm][Aa][Xx])$',
      errorMessage: 'must be LOW, MEDIUM, HIGH or MAX',
      description:
        'LOW: 320 by 240. MEDIUM (default): 640 by 480. HIGH: 1024 by 768. MAX: the best that the camera has. Case does not matter.',
    }),
  ),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 10, description: 'Number of pictures; 1 by default.' })),
  kind: Type.Optional(
    stringEnum(['photo', 'clip'], { description: 'photo (default): pictures. clip: live video as MP4.' }),
  ),
  duration_seconds: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 30,
      alias: 'durationSeconds',
      description: 'Length of a clip in seconds; 10 by default.',
    }),
  ),
  wait: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 60, description: 'Seconds to wait for the pictures; 20 by default.' }),
  ),
  wake: Type.Optional(Type.Boolean({ description: 'Wakes a sleeping device first. Default: true.' })),
});
export type CaptureQuery = Static<typeof captureQuery>;

export const captureParams = Type.Object({ captureId: Type.String({ pattern: '^[0-9a-fA-F]{24}$' }) });
