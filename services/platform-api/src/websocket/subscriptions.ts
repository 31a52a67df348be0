import { defaultEvents, type EventType, type Selection } from './client-messages.ts';

/** A subscription in `hello` and `subscribed`. */
interface SubscriptionResponse {
  readonly vehicles: 'all' | readonly number[];
  /** Vehicles that `all` excludes. */
  readonly except?: readonly number[];
  readonly events: readonly EventType[];
  readonly min_interval_ms: number;
}

interface AllVehicles {
  readonly intervalMs: number;
  readonly except: Set<number>;
}

/** Single vehicles that a connection may name. */
const maxSingleVehicles = 10_000;

/**
 * Holds the subscriptions of a connection: the default events of all vehicles until the first message, then what it
 * subscribed to without what it unsubscribed from.
 */
export class Subscriptions {
  /** Of all vehicles. */
  readonly #allVehicles = new Map<EventType, AllVehicles>();
  /** Of single vehicles, in addition: milliseconds between positions. */
  readonly #singleVehicles = new Map<number, Map<EventType, number>>();
  #isDefault = true;

  constructor() {
    this.#addAllVehicles(defaultEvents, 0);
  }

  /** Returns false if the client named too many vehicles; nothing has changed then. */
  add({ vehicles, events, minIntervalMs }: Selection): boolean {
    if (vehicles !== 'all' && this.#singleVehicles.size + vehicles.length > maxSingleVehicles) return false;
    if (this.#isDefault) this.#allVehicles.clear();
    this.#isDefault = false;
    if (vehicles === 'all') this.#addAllVehicles(events, minIntervalMs);
    else for (const id of vehicles) this.#addSingleVehicle(id, events, minIntervalMs);
    return true;
  }

  /** Returns false if the client named too many vehicles; nothing has changed then. */
  remove({ vehicles, events }: Selection): boolean {
    const excepted = [...this.#allVehicles.values()].reduce((sum, { except }) => sum + except.size, 0);
    if (vehicles !== 'all' && excepted + vehicles.length * events.length > maxSingleVehicles * 2) return false;
    this.#isDefault = false;
    for (const event of events) {
      if (vehicles === 'all') this.#allVehicles.delete(event);
      else for (const id of vehicles) this.#allVehicles.get(event)?.except.add(id);
    }
    for (const id of vehicles === 'all' ? this.#singleVehicles.keys() : vehicles) this.#removeSingleVehicle(id, events);
    return true;
  }

  /** Returns the milliseconds between two of these events, undefined without a subscription. */
  findIntervalMs(type: EventType, vehicleId: number): number | undefined {
    const allVehicles = this.#allVehicles.get(type);
    const allIntervalMs =
      allVehicles === undefined || allVehicles.except.has(vehicleId) ? undefined : allVehicles.intervalMs;
    if (this.#singleVehicles.size === 0) return allIntervalMs;
    const singleIntervalMs = this.#singleVehicles.get(vehicleId)?.get(type);
    return allIntervalMs === undefined || singleIntervalMs === undefined
      ? (allIntervalMs ?? singleIntervalMs)
      : Math.min(allIntervalMs, singleIntervalMs);
  }

  /** Groups equal subscriptions. */
  toResponse(): SubscriptionResponse[] {
    const allVehicles = [...this.#allVehicles].map(([event, { intervalMs, except }]) => ({
      vehicles: 'all' as const,
      ...(except.size === 0 ? {} : { except: [...except] }),
      events: [event],
      min_interval_ms: intervalMs,
    }));
    const singleVehicles = new Map<string, { vehicles: number[]; events: EventType[]; min_interval_ms: number }>();
    for (const [id, intervals] of this.#singleVehicles)
      for (const [min_interval_ms, events] of byInterval(intervals)) {
        const key = `${min_interval_ms}:${events.toSorted().join()}`;
        const group = singleVehicles.get(key) ?? { vehicles: [], events, min_interval_ms };
        group.vehicles.push(id);
        singleVehicles.set(key, group);
      }
    return [...mergeEqual(allVehicles), ...singleVehicles.values()];
  }

  #addAllVehicles(events: readonly EventType[], intervalMs: number): void {
    for (const event of events) this.#allVehicles.set(event, { intervalMs, except: new Set() });
  }

  #addSingleVehicle(id: number, events: readonly EventType[], intervalMs: number): void {
    const intervals = this.#singleVehicles.get(id) ?? new Map<EventType, number>();
    for (const event of events) intervals.set(event, intervalMs);
    this.#singleVehicles.set(id, intervals);
  }

  #removeSingleVehicle(id: number, events: readonly EventType[]): void {
    const intervals = this.#singleVehicles.get(id);
    for (const event of events) intervals?.delete(event);
    if (intervals?.size === 0) this.#singleVehicles.delete(id);
  }
}

function byInterval(intervals: ReadonlyMap<EventType, number>): Map<number, EventType[]> {
  const found = new Map<number, EventType[]>();
  for (const [event, intervalMs] of intervals) found.set(intervalMs, [...(found.get(intervalMs) ?? []), event]);
  return found;
}

/** Joins events with the same interval and exceptions. */
function mergeEqual(subscriptions: readonly SubscriptionResponse[]): SubscriptionResponse[] {
  const found = new Map<string, SubscriptionResponse>();
  for (const subscription of subscriptions) {
    const key = `${subscription.min_interval_ms}:${subscription.except?.join() ?? ''}`;
    found.set(key, { ...subscription, events: [...(found.get(key)?.events ?? []), ...subscription.events] });
  }
  return [...found.values()];
}
