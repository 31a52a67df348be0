import { setTimeout as delay } from 'node:timers/promises';
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerMessages,
  createInbox,
  DeliverPolicy,
  type JsMsg,
  nanos,
} from 'nats';
import type { Bus } from './connection.ts';

/** A message of a log as its reader sees it. */
export interface StreamMessage {
  /** Its number in the stream: rises from message to message of a subject, with gaps. */
  readonly sequence: number;
  readonly data: Uint8Array;
  readonly storedAtMs: number;
}

/** What a StoredLog reads, and from where. */
export interface OrderedReaderOptions {
  readonly stream: string;
  readonly subject: string;
  /** The last message that is not wanted any more; 0 reads all. */
  readonly afterSequence: number;
  /** In the place of `after`: messages that were stored since. */
  readonly sinceMs?: number;
  /** Messages in a unit, at most. */
  readonly maxMessages?: number;
  /** Bytes in a unit after which it takes no more messages. */
  readonly maxBytes?: number;
  /** All that has come since the unit before, in order. The next unit waits for it; what it throws brings the same unit again, a second later. */
  readonly handler: (messages: readonly StreamMessage[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

const restartDelayMs = 250;
const retryDelayMs = 1_000;
const inactiveThresholdMs = 60_000;
/** A reader that falls behind by so much stops asking for more until it has worked it off. */
const maxQueued = 4_096;

/**
 * Reads one subject of a JetStream stream in order, from a place that its user remembers: a log rather than a queue. Whoever processes it in order needs no
 * acknowledgement of single messages, and no other replica in between; where it has come to is for the user to keep. Survives restarts of the broker.
 */
export class OrderedReader {
  readonly #bus: Bus;
  readonly #options: Required<Omit<OrderedReaderOptions, 'sinceMs'>> & Pick<OrderedReaderOptions, 'sinceMs'>;
  readonly #stopSignal = new AbortController();
  readonly #queue: StreamMessage[] = [];
  readonly #running: Promise<unknown>;
  readonly #removeReconnectListener: () => void;
  #lastSequence: number;
  /** Messages that the present consumer has brought. */
  #deliveredCount = 0;
  #messages: ConsumerMessages | undefined;
  #wake: (() => void) | undefined;

  /** Begins to read at once, as soon as the stream is there. */
  constructor(bus: Bus, options: OrderedReaderOptions) {
    this.#bus = bus;
    this.#options = { maxMessages: 256, maxBytes: 1024 * 1024, ...options };
    this.#lastSequence = options.afterSequence;
    // What was on its way into the connection that is gone counts as delivered: another consumer reads it.
    this.#removeReconnectListener = bus.onReconnect(() => this.#messages?.stop());
    this.#running = Promise.all([this.#read(), this.#handleBatches()]);
  }

  /** Messages that have come and wait. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Reads no more and waits for the unit at work; what is queued behind it is forgotten. */
  async stop(): Promise<void> {
    this.#stopSignal.abort();
    this.#removeReconnectListener();
    this.#messages?.stop();
    this.#wake?.();
    await this.#running;
  }

  async #read(): Promise<void> {
    while (!this.#stopSignal.signal.aborted) {
      try {
        if (this.#queue.length < maxQueued / 2) await this.#consume();
      } catch (error) {
        // An outage is logged by the connection itself.
        if (!this.#stopSignal.signal.aborted && this.#bus.isUp()) this.#options.onError(error);
      }
      await delay(restartDelayMs, undefined, { signal: this.#stopSignal.signal }).catch(() => undefined);
    }
  }

  /** A consumer of its own for each reading: what is on its way when a connection ends is noticed as a gap, and read by the next one. */
  async #consume(): Promise<void> {
    const { consumers } = await this.#bus.jetstreamManager();
    const { stream } = this.#options;
    const { name } = await consumers.add(stream, this.#consumerConfig());
    if (this.#stopSignal.signal.aborted) return;
    try {
      const consumer = await this.#bus.js.consumers.get(stream, name);
      this.#deliveredCount = 0;
      const messages = await consumer.consume({
        max_messages: 512,
        abort_on_missing_resource: true,
        callback: (message: JsMsg) => this.#onMessage(message, messages),
      });
      this.#messages = messages;
      if (this.#stopSignal.signal.aborted) messages.stop();
      const error = await messages.closed();
      if (error instanceof Error) throw error;
    } finally {
      this.#messages = undefined;
      // One that can not be removed now ends by itself.
      if (this.#bus.isUp()) await consumers.delete(stream, name).catch(() => undefined);
    }
  }

  #consumerConfig(): Partial<ConsumerConfig> {
    const { subject, sinceMs } = this.#options;
    const common = {
      name: createInbox().replaceAll('.', '-'),
      filter_subject: subject,
      ack_policy: AckPolicy.None,
      inactive_threshold: nanos(inactiveThresholdMs),
      mem_storage: true,
      num_replicas: 1,
    };
    if (this.#lastSequence > 0)
      return { ...common, deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#lastSequence + 1 };
    if (sinceMs === undefined) return { ...common, deliver_policy: DeliverPolicy.All };
    return { ...common, deliver_policy: DeliverPolicy.StartTime, opt_start_time: new Date(sinceMs).toISOString() };
  }

  #onMessage(message: JsMsg, messages: ConsumerMessages): void {
    if (this.#stopSignal.signal.aborted || messages !== this.#messages) return;
    // Behind a gap, and beyond what is held, everything is read again.
    if (message.info.deliverySequence !== this.#deliveredCount + 1 || this.#queue.length >= maxQueued) {
      messages.stop();
      this.#messages = undefined;
      return;
    }
    this.#deliveredCount += 1;
    this.#lastSequence = message.seq;
    const storedAtMs = Math.floor(message.info.timestampNanos / 1e6);
    this.#queue.push({ sequence: message.seq, data: message.data, storedAtMs });
    this.#wake?.();
  }

  async #handleBatches(): Promise<void> {
    while (!this.#stopSignal.signal.aborted) {
      if (this.#queue.length === 0)
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          if (this.#stopSignal.signal.aborted) resolve();
        });
      this.#wake = undefined;
      const batch = this.#takeBatch();
      if (batch.length > 0) await this.#handleBatch(batch);
    }
  }

  #takeBatch(): StreamMessage[] {
    let bytes = 0;
    let count = 0;
    for (const { data } of this.#queue) {
      if (count >= this.#options.maxMessages || bytes >= this.#options.maxBytes) break;
      bytes += data.length;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  async #handleBatch(batch: readonly StreamMessage[]): Promise<void> {
    while (!this.#stopSignal.signal.aborted) {
      try {
        await this.#options.handler(batch);
        return;
      } catch (error) {
        this.#options.onError(error);
        await delay(retryDelayMs, undefined, { signal: this.#stopSignal.signal }).catch(() => undefined);
      }
    }
  }
}

/** When a stream was made: numbers of its messages mean nothing in a stream that was made anew. Null where there is no such stream. */
export async function streamCreatedAt(bus: Bus, stream: string): Promise<string | null> {
  const manager = await bus.jetstreamManager();
  for await (const { config, created } of manager.streams.list()) if (config.name === stream) return created;
  return null;
}
