import { type LiveEvent, type LiveEventType, liveEvents, subscribe } from '@fleet/bus';
import type { Deps } from '../platform/deps.ts';

/** Records the events published for websockets. */
export class LiveEventRecorder {
  readonly events: (LiveEvent & { readonly accountId: number })[] = [];
  readonly #subscription: { stop(): void };

  constructor({ bus }: Pick<Deps, 'bus'>) {
    const onError = (error: unknown) => {
      throw error;
    };
    this.#subscription = subscribe(bus, liveEvents, onError, ({ accountId, events }) => {
      for (const event of events) this.events.push({ ...event, accountId });
    });
  }

  /** Returns the data of all events of one type about a vehicle. */
  of(type: LiveEventType, vehicleId: number): Readonly<Record<string, unknown>>[] {
    return this.events.flatMap((event) => (event.type === type && event.vehicleId === vehicleId ? [event.data] : []));
  }

  stop(): void {
    this.#subscription.stop();
  }
}
