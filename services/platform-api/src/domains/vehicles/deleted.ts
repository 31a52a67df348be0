import { announce, fenceSession, gatewayFenceSubject, mediaControl, mediaControlSubject } from '@fleet/bus';
import { dropStreamRequest, readDevice, readStream, type StreamKind } from '@fleet/storage';
import type { Deps } from '../../deps.ts';
import type { Vehicle } from './schema.ts';

type Parts = Pick<Deps, 'records' | 'redis' | 'bus' | 'log'>;

/** What a domain does when a vehicle is deleted: end its shares, links, commands. */
export type VehicleDeleted = (vehicle: Vehicle) => Promise<void>;

const kinds: readonly StreamKind[] = ['live', 'history'];
/** JT/T 1078-2016 table 2, which has 37 channels; 0 stands for all of some devices. */
const channels = Array.from({ length: 38 }, (_unused, channel) => channel);

/** Ends what is going on with a vehicle that is deleted. The vehicle is gone already: what can not be ended now is logged, and ends by itself. */
export async function vehicleDeleted(deps: Parts, vehicle: Vehicle, hooks: readonly VehicleDeleted[]): Promise<void> {
  const { imei } = vehicle;
  const steps = hooks.map((hook) => () => hook(vehicle));
  if (imei !== null)
    steps.push(
      () => endStreams(deps, imei),
      () => endSession(deps, imei),
    );
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      deps.log.error({ err: error, vehicleId: vehicle._id }, 'something of a deleted vehicle could not be ended');
    }
  }
}

async function endStreams({ redis, bus }: Parts, imei: string): Promise<void> {
  const ids = kinds.flatMap((kind) => channels.map((channel) => ({ kind, imei, channel })));
  await Promise.all(
    ids.map(async (id) => {
      const { claim, request } = await readStream(redis, id);
      if (request !== null) await dropStreamRequest(redis, id);
      if (claim !== null) announce(bus, mediaControl, { ...id, change: 'ended' }, mediaControlSubject(claim.podId));
    }),
  );
}

/** The gateway closes the connection; a terminal that comes again is what any unknown one is. */
async function endSession({ redis, bus }: Parts, imei: string): Promise<void> {
  const session = await readDevice(redis, imei);
  if (session === null) return;
  announce(bus, fenceSession, { imei, sessionId: session.sessionId }, gatewayFenceSubject(session.podId));
}
