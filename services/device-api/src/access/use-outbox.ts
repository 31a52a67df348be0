import { randomBytes } from 'node:crypto';
import { type Bus, type DeviceAccessEvent, deviceAccessed, encodeJson, headers, JetStreamPublisher } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';

/** An audit event. */
export type Use = Omit<DeviceAccessEvent, 'id' | 'atMs'>;

/** Largest number of waiting events: a few megabytes. More are dropped, because no request waits for them. */
const maxWaiting = 10_000;
/** Number of events that are retried while JetStream is unavailable. */
const atOnce = 64;
const stopLimitMs = 2_000;

/** Publishes audit events until JetStream has stored them, however long the outage. Callers neither wait nor fail. */
export class UseOutbox {
  readonly #publisher: JetStreamPublisher;
  readonly #log: Logger;
  readonly #maxWaiting: number;
  #waiting: DeviceAccessEvent[] = [];
  #underWay = 0;
  #isStopped = false;
  /** The first loss of an outage is logged. */
  #isLosing = false;
  #dropped = 0;

  constructor(bus: Bus, log: Logger, options: { readonly maxWaiting?: number } = {}) {
    this.#log = log;
    this.#maxWaiting = options.maxWaiting ?? maxWaiting;
    this.#publisher = new JetStreamPublisher(bus, {
      timeoutMs: Number.POSITIVE_INFINITY,
      onRejected: (detail) => log.debug({ detail }, 'audit event not stored yet'),
    });
  }

  /** Number of events that are not stored yet. */
  get waiting(): number {
    return this.#waiting.length + this.#underWay;
  }

  /** Number of dropped events. */
  get dropped(): number {
    return this.#dropped;
  }

  tell(use: Use): void {
    if (this.#isStopped || this.waiting >= this.#maxWaiting) return this.#drop(1);
    this.#waiting.push({ id: randomBytes(16).toString('hex'), atMs: Date.now(), ...use });
    this.#sendNext();
  }

  /** Waits briefly for events that are not stored yet. */
  async stop(): Promise<void> {
    await this.#publisher.flush(stopLimitMs);
    this.#isStopped = true;
    this.#drop(this.#waiting.length);
    this.#waiting = [];
    this.#publisher.stop();
  }

  #sendNext(): void {
    while (this.#underWay < atOnce && !this.#isStopped) {
      const use = this.#waiting.shift();
      if (use === undefined) return;
      this.#underWay += 1;
      this.#send(use);
    }
  }

  #send(use: DeviceAccessEvent): void {
    const head = headers();
    head.set('Nats-Msg-Id', use.id);
    const done = (isStored: boolean): void => {
      this.#underWay -= 1;
      if (isStored) this.#isLosing = false;
      else this.#drop(1);
      this.#sendNext();
    };
    if (!this.#publisher.publish(deviceAccessed.subject, encodeJson(use), done, head)) done(false);
  }

  #drop(count: number): void {
    if (count === 0) return;
    this.#dropped += count;
    if (!this.#isLosing) this.#log.error({ dropped: this.#dropped }, 'audit events were lost');
    this.#isLosing = true;
  }
}
