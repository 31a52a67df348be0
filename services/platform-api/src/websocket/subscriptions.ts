import type { LiveEventType } from '@fleet/bus';
import { type Selection, usualEvents } from './client-messages.ts';

/** A subscription in `hello` and `subscribed`. */
export interface SubscriptionShown {
  readonly vehicles: 'all' | readonly number[];
  /** Vehicles that `all` excludes. */
  readonly except?: readonly number[];
  readonly events: readonly LiveEventType[];
  readonly min_interval_ms: number;
}

interface Wide {
  readonly intervalMs: number;
  readonly except: Set<number>;
}

/** Single vehicles that a connection may name. */
const maxNamed = 10_000;

/**
 * Subscriptions of a connection: the default events of all vehicles until the first message, then what it subscribed to
 * without what it unsubscribed from.
 */
export class Subscriptions {
  /** Of all vehicles. */
  readonly #wide = new Map<LiveEventType, Wide>();
  /** Of single vehicles, in addition: milliseconds between positions. */
  readonly #single = new Map<number, Map<LiveEventType, number>>();
  #isUntouched = true;

  constructor() {
    this.#addWide(usualEvents, 0);
  }

  /** Returns false if the client named too many vehicles; nothing has changed then. */
  add({ vehicles, events, minIntervalMs }: Selection): boolean {
    if (vehicles !== 'all' && this.#single.size + vehicles.length > maxNamed) return false;
    if (this.#isUntouched) this.#wide.clear();
    this.#isUntouched = false;
    if (vehicles === 'all') this.#addWide(events, minIntervalMs);
    else for (const id of vehicles) this.#addSingle(id, events, minIntervalMs);
    return true;
  }

  /** Returns false if the client named too many vehicles; nothing has changed then. */
  remove({ vehicles, events }: Selection): boolean {
    const excepted = [...this.#wide.values()].reduce((sum, { except }) => sum + except.size, 0);
    if (vehicles !== 'all' && excepted + vehicles.length * events.length > maxNamed * 2) return false;
    this.#isUntouched = false;
    for (const event of events) {
      if (vehicles === 'all') this.#wide.delete(event);
      else for (const id of vehicles) this.#wide.get(event)?.except.add(id);
    }
    for (const id of vehicles === 'all' ? this.#single.keys() : vehicles) this.#removeSingle(id, events);
    return true;
  }

  /** Returns the milliseconds between two of these events, undefined without a subscription. */
  intervalOf(type: LiveEventType, vehicleId: number): number | undefined {
    const wide = this.#wide.get(type);
    const ofAll = wide === undefined || wide.except.has(vehicleId) ? undefined : wide.intervalMs;
    if (this.#single.size === 0) return ofAll;
    const ofOne = this.#single.get(vehicleId)?.get(type);
    return ofAll === undefined || ofOne === undefined ? (ofAll ?? ofOne) : Math.min(ofAll, ofOne);
  }

  /** Groups equal subscriptions. */
  shown(): SubscriptionShown[] {
    const wide = [...this.#wide].map(([event, { intervalMs, except }]) => ({
      vehicles: 'all' as const,
      ...(except.size === 0 ? {} : { except: [...except] }),
      events: [event],
      min_interval_ms: intervalMs,
    }));
    const single = new Map<string, { vehicles: number[]; events: LiveEventType[]; min_interval_ms: number }>();
    for (const [id, wanted] of this.#single)
      for (const [min_interval_ms, events] of byInterval(wanted)) {
        const key = `${min_interval_ms}:${events.toSorted().join()}`;
        const alike = single.get(key) ?? { vehicles: [], events, min_interval_ms };
        alike.vehicles.push(id);
        single.set(key, alike);
      }
    return [...joined(wide), ...single.values()];
  }

  #addWide(events: readonly LiveEventType[], intervalMs: number): void {
    for (const event of events) this.#wide.set(event, { intervalMs, except: new Set() });
  }

  #addSingle(id: number, events: readonly LiveEventType[], intervalMs: number): void {
    const wanted = this.#single.get(id) ?? new Map<LiveEventType, number>();
    for (const event of events) wanted.set(event, intervalMs);
    this.#single.set(id, wanted);
  }

  #removeSingle(id: number, events: readonly LiveEventType[]): void {
    const wanted = this.#single.get(id);
    for (const event of events) wanted?.delete(event);
    if (wanted?.size === 0) this.#single.delete(id);
  }
}

function byInterval(wanted: ReadonlyMap<LiveEventType, number>): Map<number, LiveEventType[]> {
  const found = new Map<number, LiveEventType[]>();
  for (const [event, intervalMs] of wanted) found.set(intervalMs, [...(found.get(intervalMs) ?? []), event]);
  return found;
}

/** Joins events with the same interval and exceptions. */
function joined(lines: readonly SubscriptionShown[]): SubscriptionShown[] {
  const found = new Map<string, SubscriptionShown>();
  for (const line of lines) {
    const key = `${line.min_interval_ms}:${line.except?.join() ?? ''}`;
    found.set(key, { ...line, events: [...(found.get(key)?.events ?? []), ...line.events] });
  }
  return [...found.values()];
}
