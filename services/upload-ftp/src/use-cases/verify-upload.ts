import { randomUUID } from 'node:crypto';
import type { DeviceCommandClient } from '@fleet/bus';
import { type CameraTime, type Edition, resourceList, tryDecodeBody } from '@fleet/jt808';
import { minuteMs } from '@fleet/service-kit';
import { type Clip, type Redis, readDevice, type UploadRecord } from '@fleet/storage';

export interface VerifyUploadDeps {
  readonly commandClient: DeviceCommandClient;
  readonly redis: Redis;
  readonly replyTimeoutMs: number;
}

/** Formats a time on the camera's clock for commands, `YYMMDDhhmmss`. */
export function toCameraClock(timestampMs: number, utcOffset: string): string {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})$/.exec(utcOffset) ?? ['', '+', '08', '00'];
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * minuteMs * (sign === '-' ? -1 : 1);
  return new Date(timestampMs + offsetMs).toISOString().replaceAll(/\D/g, '').slice(2, 14);
}

/** A recording that the camera lists; times are `YYMMDDhhmmss` on its clock, null if they are invalid. */
interface ListedRecording {
  readonly startTime: string | null;
  readonly endTime: string | null;
  readonly sizeBytes: number;
}

/**
 * Returns the number of bytes that the camera lists for a clip (0x9205): null if the camera cannot be queried now, 0 if
 * it lists no matching recording. Recordings that only overlap the clip count as a whole, so that the required size is
 * never too small.
 */
export async function queryListedBytes(deps: VerifyUploadDeps, record: UploadRecord): Promise<number | null> {
  const recordings = await queryRecordings(deps, record);
  return recordings === null ? null : recordings.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

/**
 * Returns the number of bytes that the camera is likely to send for a clip: null if the camera cannot be queried now, 0
 * if it lists no matching recording. Recordings that only overlap the clip count in proportion.
 */
export async function estimateClipBytes(deps: VerifyUploadDeps, record: UploadRecord): Promise<number | null> {
  const recordings = await queryRecordings(deps, record);
  if (recordings === null) return null;
  const { startTime, endTime } = toClockSpan(record);
  const [startMs, endMs] = [toClockMs(startTime), toClockMs(endTime)];
  return recordings.reduce((sum, { sizeBytes, ...times }) => {
    const [fromMs, toMs] = [toClockMs(times.startTime ?? startTime), toClockMs(times.endTime ?? endTime)];
    const sharedMs = Math.min(toMs, endMs) - Math.max(fromMs, startMs);
    const share = toMs > fromMs ? sharedMs / (toMs - fromMs) : 1;
    return sum + Math.round(sizeBytes * share);
  }, 0);
}

const toClockSpan = ({ clip, cameraUtcOffset }: UploadRecord) => ({
  startTime: toCameraClock(clip.startMs, cameraUtcOffset),
  endTime: toCameraClock(clip.endMs, cameraUtcOffset),
});

/** Converts a time on the camera's clock to milliseconds, for differences. */
const toClockMs = (digits: string): number =>
  Date.parse(`20${digits.replace(/(..)(..)(..)(..)(..)(..)/, '$1-$2-$3T$4:$5:$6')}Z`);

/** Returns the recordings in the clip's time range on its channel; null if the camera cannot be queried now. */
async function queryRecordings(deps: VerifyUploadDeps, record: UploadRecord): Promise<ListedRecording[] | null> {
  const { clip } = record;
  const span = toClockSpan(record);
  const outcome = await deps.commandClient.send({
    imei: clip.imei,
    command: {
      kind: 'listRecordings',
      channel: clip.channel,
      ...span,
      alarmFlags: clip.alarmFlags,
      mediaType: clip.mediaType,
      streamType: clip.streamType,
      storageType: clip.storageType,
    },
    correlationId: randomUUID(),
    timeoutMs: deps.replyTimeoutMs,
    isClaimed: async (imei) => (await readDevice(deps.redis, imei)) !== null,
  });
  if (outcome.kind !== 'answered' || outcome.answer.message === null) return null;
  const { bodyBase64, edition } = outcome.answer.message;
  return readRecordings(Buffer.from(bodyBase64, 'base64'), edition, clip, span);
}

function readRecordings(
  body: Buffer,
  edition: Edition,
  clip: Clip,
  { startTime, endTime }: { readonly startTime: string; readonly endTime: string },
): ListedRecording[] | null {
  const list = tryDecodeBody(resourceList, body, edition);
  if (!list.ok) return null;
  return list.body.items
    .filter((item) => item.channel === clip.channel)
    .map((item) => ({
      startTime: toDigits(item.startTime),
      endTime: toDigits(item.endTime),
      sizeBytes: item.fileSize,
    }))
    .filter((item) => (item.startTime ?? endTime) < endTime && (item.endTime ?? startTime) > startTime);
}

/** Returns a valid time as `YYMMDDhhmmss`; null for an invalid one. */
const toDigits = (time: CameraTime): string | null =>
  typeof time === 'string' ? time.replaceAll(/\D/g, '').slice(2) : null;
