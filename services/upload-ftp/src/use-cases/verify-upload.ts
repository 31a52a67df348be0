import { randomUUID } from 'node:crypto';
import type { DeviceCommandClient } from '@fleet/bus';
import { type CameraTime, type Edition, resourceList, tryDecodeBody } from '@fleet/jt808';
import { type Clip, type Redis, readDevice, type UploadRecord } from '@fleet/storage';

export interface VerifyUploadDeps {
  readonly commandClient: DeviceCommandClient;
  readonly redis: Redis;
  readonly replyTimeoutMs: number;
}

/** Time on the camera's clock as the commands take it, `YYMMDDhhmmss`. */
export function toCameraClock(timestampMs: number, utcOffset: string): string {
  const [, sign, hours, minutes] = /^([+-])(\d{2}):(\d{2})$/.exec(utcOffset) ?? ['', '+', '08', '00'];
  const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
  return new Date(timestampMs + offsetMs).toISOString().replaceAll(/\D/g, '').slice(2, 14);
}

/**
 * Bytes that the camera lists for a clip (0x9205): null when it cannot be asked now, 0 when it lists nothing that is the clip.
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

/** Sum of what lies in the clip's window on its channel; a recording that is only touched by it counts too: then more bytes are asked for, never fewer. */
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

/** `YYMMDDhhmmss` of a time that could be read. */
const toDigits = (time: CameraTime): string | null =>
  typeof time === 'string' ? time.replaceAll(/\D/g, '').slice(2) : null;
