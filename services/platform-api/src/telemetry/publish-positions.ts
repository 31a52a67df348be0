import type { Bus, LiveEvent } from '@fleet/bus';
import { type LocationResponse, toLocationResponse } from '../domains/last-positions/responses.ts';
import { deriveState, deriveStateSince, lastReceivedMs } from '../domains/last-positions/rules.ts';
import { publishLive } from '../event-consumers/publish-live.ts';
import type { VehicleThresholds } from '../platform/thresholds.ts';
import type { VehicleUpdate } from './evaluate-batch.ts';

/**
 * Terminals that were silent long enough to be offline, with the receive time of the first report, by canonical number.
 */
export type ReturningTerminals = ReadonlyMap<string, number>;

/**
 * Publishes the newest positions of vehicles and their changed states to websockets. Returns terminals that were
 * silent: whether they were offline depends on more than their positions.
 */
export function publishPositions(
  bus: Bus,
  updates: Iterable<VehicleUpdate>,
  thresholds: VehicleThresholds,
  nowMs = Date.now(),
): ReturningTerminals {
  const byAccount = new Map<number, Omit<LiveEvent, 'atMs'>[]>();
  const returned = new Map<string, number>();
  for (const each of updates) {
    // A late report does not change the present.
    if (each.before !== null && each.state.location === each.before.location) continue;
    const previous = deriveState(each.before?.location, nowMs, thresholds);
    const wasOffline = previous === 'offline' || previous === 'never_connected';
    // A report received an hour ago and processed only now ends no silence.
    const state = deriveState(each.state.location, nowMs, thresholds);
    const isBack = wasOffline && state !== 'offline';
    if (isBack) returned.set(each.known.imei, lastReceivedMs(each.state.location));
    const stateSinceMs = deriveStateSince(each.state.location, nowMs, thresholds);
    const events = eventsOf(each, { state, stateSinceMs }, wasOffline ? null : previous);
    const { accountId } = each.known.vehicle;
    const known = byAccount.get(accountId);
    if (known === undefined) byAccount.set(accountId, events);
    else known.push(...events);
  }
  for (const [accountId, events] of byAccount) publishLive(bus, accountId, events);
  return returned;
}

// `previous`: the earlier state if its change is published.
function eventsOf(
  { known, state: { location: newest } }: VehicleUpdate,
  { state, stateSinceMs }: { readonly state: LocationResponse['state']; readonly stateSinceMs: number | null },
  previous: string | null,
): Omit<LiveEvent, 'atMs'>[] {
  const { _id: vehicleId, driverId } = known.vehicle;
  const location = toLocationResponse(newest, { vehicleId, driverId, state, stateSinceMs });
  const events: Omit<LiveEvent, 'atMs'>[] = [{ type: 'location', vehicleId, data: location }];
  if (previous !== null && previous !== state)
    events.push({
      type: 'status',
      vehicleId,
      data: {
        vehicle_id: vehicleId,
        imei: newest.imei,
        connected: true,
        state,
        previous_state: previous,
        state_since: stateSinceMs,
        last_seen: new Date(lastReceivedMs(newest)).toISOString(),
      },
    });
  return events;
}
