import { setTimeout as delay } from 'node:timers/promises';
import { type TraceContext, type TraceSpan, tracer } from '@fleet/service-kit';
import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerMessages,
  createInbox,
  DeliverPolicy,
  type JsMsg,
  type MsgHdrs,
  nanos,
} from 'nats';
import type { Bus } from './connection.ts';
import { startProcessSpan } from './trace-messages.ts';
import { heartbeatOptions, watchHeartbeats } from './watch-heartbeats.ts';

/** A message of a log as its reader sees it. */
export interface StreamMessage {
  /** Sequence number in the stream: increases with each message of a subject, with gaps. */
  readonly sequence: number;
  readonly data: Uint8Array;
  readonly storedAtMs: number;
  /** Span of its processing; only while tracing is on. */
  readonly trace?: TraceContext;
}

/** A message with its headers, which it has only while tracing is on. */
interface QueuedMessage extends StreamMessage {
  readonly headers: MsgHdrs | undefined;
}

/** Settings of an ordered reader. */
export interface OrderedReaderOptions {
  readonly stream: string;
  readonly subject: string;
  /** Sequence number of the last processed message; 0 reads all. */
  readonly afterSequence: number;
  /** Instead of `after`: messages stored since this time. */
  readonly sinceMs?: number;
  /** Largest number of messages in a batch. */
  readonly maxMessages?: number;
  /** Bytes after which a batch accepts no more messages. */
  readonly maxBytes?: number;
  /**
   * Processes all messages since the previous batch, in order. The next batch waits for it; a rejection repeats the
   * same batch after one second.
   */
  readonly handler: (messages: readonly StreamMessage[]) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

const restartDelayMs = 250;
const retryDelayMs = 1_000;
const inactiveThresholdMs = 60_000;
/** A reader that lags by this many messages pauses the consumer until it has caught up. */
const maxQueued = 4_096;

/**
 * Reads one subject of a JetStream stream in order, from an offset that the caller stores. In-order processing needs no
 * acknowledgement of single messages. Survives restarts of the broker.
 */
export class OrderedReader {
  readonly #bus: Bus;
  readonly #options: Required<Omit<OrderedReaderOptions, 'sinceMs'>> & Pick<OrderedReaderOptions, 'sinceMs'>;
  readonly #stopSignal = new AbortController();
  readonly #queue: QueuedMessage[] = [];
  readonly #running: Promise<unknown>;
  readonly #removeReconnectListener: () => void;
  #lastSequence: number;
  /** Messages delivered by the current consumer. */
  #deliveredCount = 0;
  #messages: ConsumerMessages | undefined;
  #wake: (() => void) | undefined;

  /** Starts to read as soon as the stream exists. */
  constructor(bus: Bus, options: OrderedReaderOptions) {
    this.#bus = bus;
    this.#options = { maxMessages: 256, maxBytes: 1024 * 1024, ...options };
    this.#lastSequence = options.afterSequence;
    // Messages on the way into the lost connection count as delivered: another consumer reads them.
    this.#removeReconnectListener = bus.onReconnect(() => this.#messages?.stop());
    this.#running = Promise.all([this.#read(), this.#handleBatches()]);
  }

  /** Number of buffered messages. */
  get queued(): number {
    return this.#queue.length;
  }

  /** Stops reading and waits for the running batch; drops buffered messages. */
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

  /**
   * Creates a consumer for each connection: messages lost with a connection appear as a gap, and the next consumer
   * reads them.
   */
  async #consume(): Promise<void> {
    const { consumers } = await this.#bus.jetstreamManager();
    const { stream } = this.#options;
    const { name } = await consumers.add(stream, this.#consumerConfig());
    if (this.#stopSignal.signal.aborted) return;
    let watch: { readonly isLost: boolean } | undefined;
    try {
      const consumer = await this.#bus.js.consumers.get(stream, name);
      this.#deliveredCount = 0;
      const messages = await consumer.consume({
        max_messages: 512,
        ...heartbeatOptions,
        abort_on_missing_resource: true,
        callback: (message: JsMsg) => this.#onMessage(message, messages),
      });
      this.#messages = messages;
      watch = watchHeartbeats(messages);
      if (this.#stopSignal.signal.aborted) messages.stop();
      const error = await messages.closed();
      if (error instanceof Error) throw error;
    } finally {
      this.#messages = undefined;
      // A consumer that cannot be deleted now expires by itself. A request to a lost server would only time out.
      if (this.#bus.isUp() && watch?.isLost !== true) await consumers.delete(stream, name).catch(() => undefined);
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
    // After a gap, and beyond the buffer, everything is read again.
    if (message.info.deliverySequence !== this.#deliveredCount + 1 || this.#queue.length >= maxQueued) {
      messages.stop();
      this.#messages = undefined;
      return;
    }
    this.#deliveredCount += 1;
    this.#lastSequence = message.seq;
    const storedAtMs = Math.floor(message.info.timestampNanos / 1e6);
    const headers = tracer === undefined ? undefined : message.headers;
    this.#queue.push({ sequence: message.seq, data: message.data, storedAtMs, headers });
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

  #takeBatch(): QueuedMessage[] {
    let bytes = 0;
    let count = 0;
    for (const { data } of this.#queue) {
      if (count >= this.#options.maxMessages || bytes >= this.#options.maxBytes) break;
      bytes += data.length;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  #startSpans(batch: readonly QueuedMessage[]): (TraceSpan | undefined)[] {
    return batch.map(({ headers }) => startProcessSpan(this.#options.subject, headers));
  }

  async #handleBatch(batch: readonly QueuedMessage[]): Promise<void> {
    while (!this.#stopSignal.signal.aborted) {
      const spans = tracer === undefined ? [] : this.#startSpans(batch);
      try {
        await this.#options.handler(tracer === undefined ? batch : withSpans(batch, spans));
        for (const span of spans) span?.end();
        return;
      } catch (error) {
        for (const span of spans) {
          span?.fail(error);
          span?.end();
        }
        this.#options.onError(error);
        await delay(retryDelayMs, undefined, { signal: this.#stopSignal.signal }).catch(() => undefined);
      }
    }
  }
}

const withSpans = (
  batch: readonly StreamMessage[],
  spans: readonly (TraceSpan | undefined)[],
): readonly StreamMessage[] =>
  batch.map((message, index) => {
    const trace = spans[index]?.context;
    return trace === undefined ? message : { ...message, trace };
  });
