import type { Bus, LiveEvent } from '@fleet/bus';
import { lastHeardMs, stateOf } from '../domains/realtime/rules.ts';
import type { LastLocation } from '../domains/realtime/schema.ts';
import { shownLocation } from '../domains/realtime/shown.ts';
import { tellLive } from '../events/live.ts';
import type { Moved } from './unit.ts';

/** A live message stays below the broker's limit. */
const atOnce = 500;

/** Tells websockets of the newest positions of vehicles, and of states that have changed with them. */
export function tellOfPositions(bus: Bus, moved: Iterable<Moved>, nowMs = Date.now()): void {
  const byAccount = new Map<number, Omit<LiveEvent, 'atMs'>[]>();
  for (const each of moved) {
    const events = eventsOf(each, nowMs);
    const { accountId } = each.known.vehicle;
    const known = byAccount.get(accountId);
    if (known === undefined) byAccount.set(accountId, events);
    else known.push(...events);
  }
  for (const [accountId, events] of byAccount)
    for (let at = 0; at < events.length; at += atOnce) tellLive(bus, accountId, events.slice(at, at + atOnce));
}

function eventsOf({ known, before, state }: Moved, nowMs: number): Omit<LiveEvent, 'atMs'>[] {
  // A late report changes nothing of the present.
  if (before !== null && state.location === before.location) return [];
  const { _id: vehicleId, driverId } = known.vehicle;
  const location = shownLocation(state.location, { vehicleId, driverId, nowMs });
  const events: Omit<LiveEvent, 'atMs'>[] = [{ type: 'location', vehicleId, data: location }];
  const previous = previousOf(before?.location, location.source, nowMs);
  if (previous !== location.state)
    events.push({
      type: 'status',
      vehicleId,
      data: {
        vehicle_id: vehicleId,
        imei: state.location.imei,
        connected: true,
        state: location.state,
        previous_state: previous,
        last_seen: new Date(lastHeardMs(state.location)).toISOString(),
      },
    });
  return events;
}

/** A terminal has told by its session that it is there, and stands still until it reports; partners' devices have none. */
function previousOf(before: LastLocation | undefined, source: LastLocation['source'], nowMs: number) {
  const state = stateOf(before, nowMs);
  return source === 'jt808' && (state === 'offline' || state === 'never_connected') ? 'stopped' : state;
}
