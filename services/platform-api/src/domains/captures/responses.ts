import type { Deps } from '../../platform/deps.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import { findByKey } from '../media/queries.ts';
import { toMediaResponse } from '../media/responses.ts';
import type { Capture, CaptureResponse } from './schema.ts';

/** Converts a capture to its record. Without `buildUrl` the caller may not see its files. */
export async function toCaptureResponse(
  { records }: Pick<Deps, 'records'>,
  capture: Capture,
  buildUrl: ((id: number) => string) | null,
): Promise<CaptureResponse> {
  const files = buildUrl === null ? [] : capture.files;
  const media = await Promise.all(files.map(({ mediaKey }) => findByKey(records, mediaKey)));
  return {
    ...toRecordResponse(capture),
    capture_id: capture.captureId,
    vehicle_id: capture.vehicleId,
    channel_id: capture.channelId,
    kind: capture.kind,
    quality: capture.quality,
    status: capture.status,
    method: capture.method,
    error: capture.error,
    requested_at: capture.requestedAt.toISOString(),
    completed_at: formatTime(capture.completedAt),
    // A file may have been deleted since, or its record may not be written yet.
    media: media.flatMap((each) =>
      each === null || each.captureId !== capture.captureId || buildUrl === null
        ? []
        : [toMediaResponse(each, buildUrl)],
    ),
  };
}
