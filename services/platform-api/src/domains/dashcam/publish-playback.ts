import { type PlaybackProgress, streamStatusEvent } from '@fleet/bus';
import { readStream } from '@fleet/storage';
import { publishLive } from '../../event-consumers/publish-live.ts';
import type { Deps } from '../../platform/deps.ts';
import { findVehicleByImei } from '../vehicles/queries.ts';
import { toPlaybackFields } from './playback.ts';
import { toPositionMs } from './playback-position.ts';
import {
  deletePlayback,
  findAnchorTimestamp,
  type PlaybackRecord,
  readPlayback,
  readPositionMs,
  savePositionMs,
} from './playback-store.ts';
import { toStreamEvent } from './responses.ts';

type PublishDeps = Pick<Deps, 'bus' | 'records' | 'redis'>;

/** Publishes a position. Recordings of the Device API's callers have no record, and no event. */
export async function publishPlayback(deps: PublishDeps, progress: PlaybackProgress): Promise<void> {
  const { redis, bus, records } = deps;
  const { imei, channel, isEnded, viewers } = progress;
  const id = { imei, channel };
  const record = await readPlayback(redis, id);
  if (record === null) return;
  const vehicle = await findVehicleByImei(records, imei);
  if (vehicle === null || vehicle._id !== record.vehicleId) return;
  const positionMs = await findPosition(deps, progress, record);
  const state = toStreamEvent(
    vehicle,
    streamStatusEvent(id, isEnded ? 'stopped' : 'starting', record.streamType === 1 ? 0 : 1),
  );
  const data = {
    ...state,
    ...(isEnded ? {} : { status: 'streaming', phase: 'streaming' }),
    kind: 'history',
    viewers,
    started_at: new Date(record.startedAtMs).toISOString(),
    ...noUrls,
    playback: toPlaybackFields(record, positionMs),
  };
  if (isEnded) {
    // Another recording of the channel may have begun.
    const { claim, request } = await readStream(redis, { kind: 'history', ...id });
    if (claim !== null || request !== null) return;
    await deletePlayback(redis, id);
  }
  if (!isEnded) await savePositionMs(redis, id, positionMs);
  publishLive(bus, vehicle.accountId, [{ type: 'stream', vehicleId: vehicle._id, data }]);
}

async function findPosition(
  { redis }: PublishDeps,
  { imei, channel, timestampMs }: PlaybackProgress,
  record: PlaybackRecord,
): Promise<number> {
  const id = { imei, channel };
  if (timestampMs === null) return (await readPositionMs(redis, id)) ?? record.anchorMs;
  return toPositionMs(record, timestampMs, await findAnchorTimestamp(redis, id, record, timestampMs));
}

/** Viewers have the addresses of their own requests. */
const noUrls = { stream_url: null, ws_flv_url: null, hls_url: null, talk_url: null, token_expires_at: null };
