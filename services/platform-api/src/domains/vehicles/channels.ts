import type { DeviceCommandClient } from '@fleet/bus';
import { avAttributesResponse, tryDecodeBody } from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import { type Redis, readDevice } from '@fleet/storage';
import { updateWithVersion } from '../../store/optimistic-retry.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { createChannels } from './rules.ts';
import type { Channel, Vehicle } from './schema.ts';
import { vehicleCollection } from './store.ts';

/** Timeout of the query. A terminal responds quickly or sleeps, and the page of a vehicle must not wait long. */
const responseTimeoutMs = 3_000;

/** Dependencies of the query for cameras. */
interface ChannelDeps {
  readonly records: RecordStore;
  readonly redis: Redis;
  readonly commandClient: Pick<DeviceCommandClient, 'send'>;
  readonly log: Logger;
}

/**
 * Returns the vehicle with the channels that its connected terminal reports (0x9003), if none are recorded. Returns the
 * vehicle unchanged if that fails.
 */
export async function withChannels(parts: ChannelDeps, vehicle: Vehicle, requestId: string): Promise<Vehicle> {
  if (vehicle.imei === null || vehicle.channels.length > 0) return vehicle;
  try {
    const channels = await requestChannels(parts, vehicle.imei, requestId);
    if (channels.length === 0) return vehicle;
    return await storeChannels(parts, vehicle, channels);
  } catch (error) {
    parts.log.warn({ err: error, vehicleId: vehicle._id }, 'could not query the channels of a terminal');
    return vehicle;
  }
}

/** Stores the channels, unless a user has set others since, or has given the vehicle another terminal. */
async function storeChannels(
  { records }: ChannelDeps,
  requested: Vehicle,
  channels: readonly Channel[],
): Promise<Vehicle> {
  const vehicles = vehicleCollection(records);
  return updateWithVersion(undefined, async () => {
    const now = await vehicles.find(requested, requested._id);
    if (now === null || now.imei !== requested.imei || now.channels.length > 0) return now ?? requested;
    return (await vehicles.update(now, now._id, { channels }, now.version)) ?? now;
  });
}

async function requestChannels(
  { redis, commandClient }: ChannelDeps,
  imei: string,
  requestId: string,
): Promise<Channel[]> {
  if ((await readDevice(redis, imei)) === null) return [];
  const outcome = await commandClient.send({
    imei,
    command: { kind: 'queryAvAttributes' },
    correlationId: requestId,
    timeoutMs: responseTimeoutMs,
    isClaimed: () => Promise.resolve(false),
  });
  if (outcome.kind !== 'answered' || outcome.answer.message?.id !== avAttributesResponse.id) return [];
  const { bodyBase64, edition } = outcome.answer.message;
  const decoded = tryDecodeBody(avAttributesResponse, Buffer.from(bodyBase64, 'base64'), edition);
  return decoded.ok
    ? createChannels({ video: decoded.body.maxVideoChannels, audio: decoded.body.maxAudioChannels })
    : [];
}
