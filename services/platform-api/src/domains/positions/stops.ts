import type { Caller } from '../../access/caller.ts';
import type { Position } from '../../geometry/positions.ts';
import type { Deps } from '../../platform/deps.ts';
import { addressesOf } from '../geocoding/addresses.ts';
import { createGeofenceFinder } from '../geofences/queries.ts';
import type { StopResponse, TripResponse } from './schema.ts';

/** Returns the places where a vehicle stood between its trips, without addresses. */
export async function stopsBetween(
  deps: Pick<Deps, 'records'>,
  caller: Caller,
  trips: readonly TripResponse[],
): Promise<StopResponse[]> {
  const geofenceIdsAt = await createGeofenceFinder(deps, caller);
  return trips.flatMap(({ end, ended_at: endedAt }, at): StopResponse[] => {
    if (end === null || endedAt === null) return [];
    const { latitude, longitude } = end;
    const geofenceIds = geofenceIdsAt([latitude, longitude]);
    const to = trips[at + 1]?.started_at ?? null;
    return [{ from: endedAt, to, latitude, longitude, address: null, geofence_ids: geofenceIds }];
  });
}

/** A response with a position and its address. */
interface Place {
  readonly latitude: number;
  readonly longitude: number;
  readonly address: string | null;
}

/** Adds the addresses of stops, and of the starts and ends of trips, as far as the limit of requests allows. */
export async function withAddresses(
  deps: Parameters<typeof addressesOf>[0],
  caller: Caller,
  trips: readonly TripResponse[],
  stops: readonly StopResponse[],
): Promise<{ readonly trips: TripResponse[]; readonly stops: StopResponse[] }> {
  const places: Place[] = [...stops, ...trips.flatMap(({ start, end }) => (end === null ? [start] : [start, end]))];
  const positions = places.map(({ latitude, longitude }): Position => [latitude, longitude]);
  const found = await addressesOf(deps, caller, positions);
  const addresses = new Map(places.map((place, at) => [place, found[at] ?? null]));
  const name = <T extends Place>(place: T): T => ({ ...place, address: addresses.get(place) ?? null });
  return {
    stops: stops.map(name),
    trips: trips.map((trip) => ({ ...trip, start: name(trip.start), end: trip.end && name(trip.end) })),
  };
}
