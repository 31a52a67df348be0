import { randomUUID } from 'node:crypto';
import type { DeviceCommandClient } from '@fleet/bus';
import { type CameraTime, type Edition, resourceList, tryDecodeBody } from '@fleet/jt808';
import { type Clip, type Redis, readDevice, type UploadRecord } from '@fleet/storage';

export interface VerifyUploadDeps {
  readonly commandClient: DeviceCommandClient;
  readonly redis: Redis;
  readonly replyTimeoutMs: number;
}

/** Formats a time on the camera's clock for commands, `YYMMDDhhmmss`. */
export function toCameraClock(timestampMs: number, utcOffset: string): string {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})$/.exec(utcOffset) ?? ['', '+', '08', '00'];
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return new Date(timestampMs + offsetMs).toISOString().replaceAll(/\D/g, '').slice(2, 14);
}

/**
 * Returns the number of bytes that the camera lists for a clip (0x9205): null if the camera cannot be queried now, 0 if
 * it lists no matching recording.
 */
export async function queryListedBytes(
  deps: VerifyUploadDeps,
  { clip, cameraUtcOffset }: UploadRecord,
): Promise<number | null> {
  const [startTime, endTime] = [
    toCameraClock(clip.startMs, cameraUtcOffset),
    toCameraClock(clip.endMs, cameraUtcOffset),
  ];
  const outcome = await deps.commandClient.send({
    imei: clip.imei,
    command: {
      kind: 'listRecordings',
      channel: clip.channel,
      startTime,
      endTime,
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
  return sumListedBytes(Buffer.from(bodyBase64, 'base64'), edition, clip, startTime, endTime);
}

/**
 * Returns the total size of the recordings in the clip's time range on its channel. Recordings that only overlap the
 * range count too, so that the required size is never too small.
 */
function sumListedBytes(body: Buffer, edition: Edition, clip: Clip, startTime: string, endTime: string): number | null {
  const list = tryDecodeBody(resourceList, body, edition);
  if (!list.ok) return null;
  return list.body.items
    .filter((item) => item.channel === clip.channel)
    .filter(
      (item) => (toDigits(item.startTime) ?? endTime) < endTime && (toDigits(item.endTime) ?? startTime) > startTime,
    )
    .reduce((sum, { fileSize }) => sum + fileSize, 0);
}

/** Returns a valid time as `YYMMDDhhmmss`; null for an invalid one. */
const toDigits = (time: CameraTime): string | null =>
  typeof time === 'string' ? time.replaceAll(/\D/g, '').slice(2) : null;
