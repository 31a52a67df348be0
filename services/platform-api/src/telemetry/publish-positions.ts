import type { Bus, LiveEvent } from '@fleet/bus';
import { toLocationResponse } from '../domains/last-positions/responses.ts';
import { lastReceivedMs, stateOf } from '../domains/last-positions/rules.ts';
import { publishLive } from '../event-consumers/publish-live.ts';
import type { VehicleUpdate } from './evaluate-batch.ts';

/**
 * Terminals that were silent long enough to be offline, with the receive time of the first report, by canonical number.
 */
export type ReturningTerminals = ReadonlyMap<string, number>;

/**
 * Publishes the newest positions of vehicles and their changed states to websockets. Returns terminals that were
 * silent: whether they were offline depends on more than their positions.
 */
export function publishPositions(bus: Bus, moved: Iterable<VehicleUpdate>, nowMs = Date.now()): ReturningTerminals {
  const byAccount = new Map<number, Omit<LiveEvent, 'atMs'>[]>();
  const returned = new Map<string, number>();
  for (const each of moved) {
    // A late report does not change the present.
    if (each.before !== null && each.state.location === each.before.location) continue;
    const previous = stateOf(each.before?.location, nowMs);
    const wasAway = previous === 'offline' || previous === 'never_connected';
    // A report received an hour ago and processed only now ends no silence.
    const isBack = wasAway && stateOf(each.state.location, nowMs) !== 'offline';
    if (isBack) returned.set(each.known.imei, lastReceivedMs(each.state.location));
    const events = eventsOf(each, wasAway ? null : previous, nowMs);
    const { accountId } = each.known.vehicle;
    const known = byAccount.get(accountId);
    if (known === undefined) byAccount.set(accountId, events);
    else known.push(...events);
  }
  for (const [accountId, events] of byAccount) publishLive(bus, accountId, events);
  return returned;
}

/** `previous`: the earlier state if its change is published. */
function eventsOf({ known, state }: VehicleUpdate, previous: string | null, nowMs: number): Omit<LiveEvent, 'atMs'>[] {
  const { _id: vehicleId, driverId } = known.vehicle;
  const location = toLocationResponse(state.location, { vehicleId, driverId, nowMs });
  const events: Omit<LiveEvent, 'atMs'>[] = [{ type: 'location', vehicleId, data: location }];
  if (previous !== null && previous !== location.state)
    events.push({
      type: 'status',
      vehicleId,
      data: {
        vehicle_id: vehicleId,
        imei: state.location.imei,
        connected: true,
        state: location.state,
        previous_state: previous,
        last_seen: new Date(lastReceivedMs(state.location)).toISOString(),
      },
    });
  return events;
}
