import type { DeviceResponse } from '@fleet/bus';
import { resourceList, tryDecodeBody } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import { formatCameraTime, type UtcOffset } from './camera-time.ts';

/** One recording of a camera; times are RFC 3339 in the camera's offset. */
export interface Recording {
  readonly channel: number;
  readonly startTime: string;
  readonly endTime: string;
  readonly alarmFlags: bigint;
  readonly resourceType: number;
  readonly streamType: number;
  readonly memoryType: number;
  readonly fileSizeBytes: number;
}

type ResponseMessage = NonNullable<DeviceResponse['message']>;

const results = ['success', 'failure', 'incorrectInfo', 'unsupported'];
const unreadableError = (detail: string): AppError =>
  new AppError('upstream_error', `The device's reply could not be read: ${detail}.`);

/**
 * Returns the recordings in a response to 0x9205; throws 502 with the reason if the device refused, or its list is
 * invalid or incomplete.
 */
export function parseRecordings(response: DeviceResponse, offset: UtcOffset): Recording[] {
  const { message, result } = response;
  if (message === null) {
    const resultName = result === null ? 'no result' : (results[result] ?? `result code ${result}`);
    throw new AppError('upstream_error', `The device refused to list its recordings: it returned ${resultName}.`);
  }
  const { items, total } = decodeResourceList(message);
  if (items.length < total)
    throw new AppError(
      'upstream_error',
      `The device's list of recordings is incomplete: ${items.length} of ${total} came.`,
    );
  return items.map((item, index) => ({
    channel: item.channel,
    startTime: requireTime(item.startTime, offset, index),
    endTime: requireTime(item.endTime, offset, index),
    alarmFlags: item.alarmFlags,
    resourceType: requireChoice(item.mediaType, 3, 'resource type', index),
    streamType: requireChoice(item.streamType, 2, 'stream type', index),
    memoryType: requireChoice(item.storageType, 2, 'memory type', index),
    fileSizeBytes: item.fileSize,
  }));
}

/** Returns true for a list without recordings. */
export function isEmptyRecordingList(message: ResponseMessage): boolean {
  const { items, total } = decodeResourceList(message);
  return items.length === 0 && total === 0;
}

function decodeResourceList(message: ResponseMessage) {
  if (message.id !== resourceList.id) throw unreadableError('it is not a list of recordings');
  const decoded = tryDecodeBody(resourceList, Buffer.from(message.bodyBase64, 'base64'), message.edition);
  if (!decoded.ok) throw unreadableError(decoded.error.message);
  const { items, total = items.length } = decoded.body;
  return { items, total };
}

function requireTime(time: unknown, offset: UtcOffset, index: number): string {
  if (typeof time !== 'string') throw unreadableError(`recording ${index + 1} has no valid time`);
  return formatCameraTime(time, offset);
}

// The interface has only the standard's values.
function requireChoice(value: number, maximum: number, fieldName: string, index: number): number {
  if (value > maximum)
    throw unreadableError(`recording ${index + 1} has the ${fieldName} ${value}, which the standard does not define`);
  return value;
}
