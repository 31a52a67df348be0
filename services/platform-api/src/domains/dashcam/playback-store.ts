import type { Redis } from '@fleet/storage';

/** A recording that plays from a camera over the air, for the user who started it. */
export interface PlaybackRecord {
  readonly playbackId: string;
  readonly vehicleId: number;
  readonly accountId: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly streamType: number;
  readonly startedBy: number;
  readonly startedAtMs: number;
  /** 1 to 16 times. */
  readonly pace: number;
  /** Position at the start, or of the last seek. */
  readonly anchorMs: number;
  /** Rises with each start and seek: the camera's clock may restart. */
  readonly revision: number;
}

/** Identifies the recording of a camera. */
export interface PlaybackId {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly channel: number;
}

const lifetimeMs = 24 * 3_600_000;
/** Without progress a position is unknown. */
const positionLifetimeMs = 60_000;

const nameOf = ({ imei, channel }: PlaybackId): string => `${imei}:${channel}`;
const recordKey = (id: PlaybackId): string => `playback:${nameOf(id)}`;
const positionKey = (id: PlaybackId): string => `playback-position:${nameOf(id)}`;
const anchorKey = (id: PlaybackId, { playbackId, revision }: PlaybackRecord): string =>
  `playback-anchor:${nameOf(id)}:${playbackId}:${revision}`;

const expiration = (ms: number) => ({ expiration: { type: 'PX', value: ms } }) as const;

export async function readPlayback(redis: Redis, id: PlaybackId): Promise<PlaybackRecord | null> {
  const text = await redis.get(recordKey(id));
  return text === null ? null : (JSON.parse(text) as PlaybackRecord);
}

export async function savePlayback(redis: Redis, id: PlaybackId, record: PlaybackRecord): Promise<void> {
  await redis.set(recordKey(id), JSON.stringify(record), expiration(lifetimeMs));
}

export async function deletePlayback(redis: Redis, id: PlaybackId): Promise<void> {
  await redis.del([recordKey(id), positionKey(id)]);
}

export async function readPositionMs(redis: Redis, id: PlaybackId): Promise<number | null> {
  const text = await redis.get(positionKey(id));
  return text === null ? null : Number(text);
}

export async function savePositionMs(redis: Redis, id: PlaybackId, positionMs: number): Promise<void> {
  await redis.set(positionKey(id), String(positionMs), expiration(positionLifetimeMs));
}

/** Returns the first timestamp of the camera since the start or the last seek; `timestampMs` if there was none. */
export async function findAnchorTimestamp(
  redis: Redis,
  id: PlaybackId,
  record: PlaybackRecord,
  timestampMs: number,
): Promise<number> {
  const key = anchorKey(id, record);
  await redis.set(key, String(timestampMs), { condition: 'NX', ...expiration(lifetimeMs) });
  return Number((await redis.get(key)) ?? timestampMs);
}
