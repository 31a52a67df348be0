import { announce, type Bus, type LiveEvent, liveEvents, liveSubject } from '@fleet/bus';

/** Tells the websockets of all replicas what has just happened to vehicles of an account. */
export function tellLive(
  bus: Bus,
  accountId: number,
  events: readonly (Omit<LiveEvent, 'atMs'> & { readonly atMs?: number })[],
): void {
  if (events.length === 0) return;
  const now = Date.now();
  const dated = events.map((event) => ({ ...event, atMs: event.atMs ?? now }));
  announce(bus, liveEvents, { accountId, events: dated }, liveSubject(accountId));
}
