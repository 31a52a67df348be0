import { type Bus, type LiveEvent, liveEvents, liveSubject, publish } from '@fleet/bus';

/** A message stays below the broker's limit. */
const atOnce = 500;

/** Publishes changes of an account's vehicles to the websockets of all replicas. */
export function publishLive(
  bus: Bus,
  accountId: number,
  events: readonly (Omit<LiveEvent, 'atMs'> & { readonly atMs?: number })[],
): void {
  const now = Date.now();
  const dated = events.map((event) => ({ ...event, atMs: event.atMs ?? now }));
  for (let at = 0; at < dated.length; at += atOnce)
    publish(bus, liveEvents, { accountId, events: dated.slice(at, at + atOnce) }, liveSubject(accountId));
}
