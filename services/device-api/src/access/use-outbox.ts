import { randomBytes } from 'node:crypto';
import { type Bus, type DeviceAccessEvent, deviceAccessed, encodeJson, headers, JetStreamPublisher } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';

/** What the audit log is told of. */
export type Use = Omit<DeviceAccessEvent, 'id' | 'atMs'>;

/** Uses that wait for JetStream: a few megabytes. What comes while there are so many is dropped, as no request waits for this. */
const maxWaiting = 10_000;
/** While JetStream is away these few are sent again and again, and not all. */
const atOnce = 64;
const stopLimitMs = 2_000;

/** Tells the audit log what was done with devices, once and for good, however long JetStream is away: nobody who tells waits, or fails. */
export class UseOutbox {
  readonly #publisher: JetStreamPublisher;
  readonly #log: Logger;
  readonly #maxWaiting: number;
  #waiting: DeviceAccessEvent[] = [];
  #underWay = 0;
  #isStopped = false;
  /** Of an outage it is logged once that something was lost. */
  #isLosing = false;
  #dropped = 0;

  constructor(bus: Bus, log: Logger, options: { readonly maxWaiting?: number } = {}) {
    this.#log = log;
    this.#maxWaiting = options.maxWaiting ?? maxWaiting;
    this.#publisher = new JetStreamPublisher(bus, {
      timeoutMs: Number.POSITIVE_INFINITY,
      onRejected: (detail) => log.debug({ detail }, 'what is to be in the audit log is not stored yet'),
    });
  }

  /** Uses that are not stored yet. */
  get waiting(): number {
    return this.#waiting.length + this.#underWay;
  }

  /** Uses that will never be in the audit log. */
  get dropped(): number {
    return this.#dropped;
  }

  tell(use: Use): void {
    if (this.#isStopped || this.waiting >= this.#maxWaiting) return this.#drop(1);
    this.#waiting.push({ id: randomBytes(16).toString('hex'), atMs: Date.now(), ...use });
    this.#sendNext();
  }

  /** Waits a moment for what is not stored yet. */
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
    if (!this.#isLosing) this.#log.error({ dropped: this.#dropped }, 'the audit log misses what was done with devices');
    this.#isLosing = true;
  }
}
