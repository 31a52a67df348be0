import type { PlaybackRecord } from './playback-store.ts';

/** Cameras begin with the key frame before the start, and end with the picture after the end. */
const toleranceMs = 60_000;

/** Returns whether a camera's timestamps are times since 1970, so that they name the position. */
const isAbsolute = ({ fromMs, toMs }: Pick<PlaybackRecord, 'fromMs' | 'toMs'>, timestampMs: number): boolean =>
  timestampMs >= fromMs - toleranceMs && timestampMs <= toMs + toleranceMs;

/**
 * Returns the position of a picture in its recording. Other clocks than that since 1970 count from the first picture
 * after the start or the last seek.
 */
export function toPositionMs(
  record: Pick<PlaybackRecord, 'fromMs' | 'toMs' | 'anchorMs'>,
  timestampMs: number,
  firstTimestampMs: number,
): number {
  const positionMs = isAbsolute(record, timestampMs) ? timestampMs : record.anchorMs + timestampMs - firstTimestampMs;
  return Math.min(record.toMs, Math.max(record.fromMs, positionMs));
}
