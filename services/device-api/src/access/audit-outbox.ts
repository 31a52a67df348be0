import { randomBytes } from 'node:crypto';
import { type Bus, type DeviceAccessEvent, deviceAccessed, encodeJson, headers, JetStreamPublisher } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';

/** An audit event. It gets a random id and the present time without others. */
export type AuditEvent = Omit<DeviceAccessEvent, 'id' | 'atMs'> & Partial<Pick<DeviceAccessEvent, 'id' | 'atMs'>>;

/** A waiting event. */
interface Entry {
  readonly event: DeviceAccessEvent;
  readonly onStored: (() => void) | undefined;
  readonly onLost: (() => void) | undefined;
}

/** Largest number of waiting events: a few megabytes. More are dropped, because no request waits for them. */
const defaultMaxPending = 10_000;
/** Number of events that are retried while JetStream is unavailable. */
const maxInFlight = 64;
const stopTimeoutMs = 2_000;

/** Publishes audit events until JetStream has stored them, however long the outage. Callers neither wait nor fail. */
export class AuditOutbox {
  readonly #publisher: JetStreamPublisher;
  readonly #log: Logger;
  readonly #maxPending: number;
  #queue: Entry[] = [];
  #inFlight = 0;
  #isStopped = false;
  /** The first loss of an outage is logged. */
  #isLossLogged = false;
  #dropped = 0;

  constructor(bus: Bus, log: Logger, options: { readonly maxPending?: number } = {}) {
    this.#log = log;
    this.#maxPending = options.maxPending ?? defaultMaxPending;
    this.#publisher = new JetStreamPublisher(bus, {
      timeoutMs: Number.POSITIVE_INFINITY,
      onRejected: (detail) => log.debug({ detail }, 'audit event not stored yet'),
    });
  }

  /** Number of events that are not stored yet. */
  get pending(): number {
    return this.#queue.length + this.#inFlight;
  }

  /** Number of dropped events. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Publishes an event; calls back once it is stored, or dropped. */
  enqueue(event: AuditEvent, onStored?: () => void, onLost?: () => void): void {
    const entry: Entry = {
      event: { id: randomBytes(16).toString('hex'), atMs: Date.now(), ...event },
      onStored,
      onLost,
    };
    if (this.#isStopped || this.pending >= this.#maxPending) return this.#drop([entry]);
    this.#queue.push(entry);
    this.#sendNext();
  }

  /** Waits briefly for events that are not stored yet. */
  async stop(): Promise<void> {
    await this.#publisher.flush(stopTimeoutMs);
    this.#isStopped = true;
    this.#drop(this.#queue);
    this.#queue = [];
    this.#publisher.stop();
  }

  #sendNext(): void {
    while (this.#inFlight < maxInFlight && !this.#isStopped) {
      const entry = this.#queue.shift();
      if (entry === undefined) return;
      this.#inFlight += 1;
      this.#send(entry);
    }
  }

  #send(entry: Entry): void {
    const { event } = entry;
    const messageHeaders = headers();
    messageHeaders.set('Nats-Msg-Id', event.id);
    const onDone = (isStored: boolean): void => {
      this.#inFlight -= 1;
      if (isStored) {
        this.#isLossLogged = false;
        entry.onStored?.();
      } else this.#drop([entry]);
      this.#sendNext();
    };
    if (!this.#publisher.publish(deviceAccessed.subject, encodeJson(event), onDone, messageHeaders)) onDone(false);
  }

  #drop(entries: readonly Entry[]): void {
    if (entries.length === 0) return;
    this.#dropped += entries.length;
    for (const { onLost } of entries) onLost?.();
    if (!this.#isLossLogged) this.#log.error({ dropped: this.#dropped }, 'audit events were lost');
    this.#isLossLogged = true;
  }
}
