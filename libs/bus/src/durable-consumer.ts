import { setTimeout as delay } from 'node:timers/promises';
import { AckPolicy, type ConsumerMessages, DeliverPolicy, type JsMsg, nanos } from 'nats';
import type { Bus } from './connection.ts';
import { isNotFound } from './jetstream-errors.ts';
import { traceProcessing } from './trace-messages.ts';
import { heartbeatOptions, watchHeartbeats } from './watch-heartbeats.ts';

/** A message of a JetStream stream as its handler sees it. */
export interface JetStreamMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  /** Returns a header; empty if the message has none of this name. */
  header(name: string): string;
  /** Delivery count, from 1. */
  readonly deliveryCount: number;
  /** Sequence number in the stream. */
  readonly sequence: number;
  readonly storedAtMs: number;
}

/** Thrown by a handler: redeliver the message after this time, without a fault. */
export class RetryLater extends Error {
  override readonly name = 'RetryLater';
  readonly delayMs: number;

  constructor(delayMs: number) {
    super(`retry in ${delayMs} ms`);
    this.delayMs = delayMs;
  }
}

/** Settings of a durable consumer. */
export interface DurableConsumerOptions {
  readonly stream: string;
  /**
   * Name of the durable consumer. Replicas with the same name share the messages, and it continues after any restart.
   */
  readonly durable: string;
  readonly subject: string;
  /** Resolves once the message has taken effect; only then is it acknowledged. A rejection causes redelivery. */
  readonly handler: (message: JetStreamMessage) => Promise<void>;
  readonly onError: (error: unknown) => void;
  /** Unacknowledged messages of all replicas together. Default 64. */
  readonly maxInFlight?: number;
  /**
   * Redelivery time of messages of a crashed replica. A handler may take longer, because its replica extends the time.
   * Default 10 s.
   */
  readonly ackWaitMs?: number;
  /** Delay before redelivery of a failed message: doubled with each failure, up to 60 times. Default 1 s. */
  readonly retryDelayMs?: number;
}

const restartDelayMs = 500;

/**
 * Reads a JetStream stream with a durable consumer, at least once, until each handler succeeds. Creates a missing
 * consumer and survives restarts of the broker.
 */
export class DurableConsumer {
  readonly #bus: Bus;
  readonly #options: Required<DurableConsumerOptions>;
  readonly #handling = new Set<Promise<void>>();
  readonly #stopSignal = new AbortController();
  readonly #running: Promise<void>;
  #messages: ConsumerMessages | undefined;

  /** Starts to read as soon as the stream exists. */
  constructor(bus: Bus, options: DurableConsumerOptions) {
    this.#bus = bus;
    this.#options = { maxInFlight: 64, ackWaitMs: 10_000, retryDelayMs: 1_000, ...options };
    this.#running = this.#run();
  }

  /** Number of messages whose handlers run. */
  get inFlight(): number {
    return this.#handling.size;
  }

  /** Accepts no more messages and waits for running handlers. Unfinished messages are redelivered elsewhere. */
  async stop(): Promise<void> {
    this.#stopSignal.abort();
    this.#messages?.stop();
    await this.#running;
    await Promise.allSettled(this.#handling);
  }

  async #run(): Promise<void> {
    while (!this.#stopSignal.signal.aborted) {
      try {
        await this.#ensureConsumer();
        await this.#consume();
      } catch (error) {
        if (this.#stopSignal.signal.aborted) return;
        // An outage is logged by the connection itself.
        if (this.#bus.isUp()) this.#options.onError(error);
      }
      await delay(restartDelayMs, undefined, { signal: this.#stopSignal.signal }).catch(() => undefined);
    }
  }

  async #ensureConsumer(): Promise<void> {
    const { stream, durable, subject, maxInFlight, ackWaitMs } = this.#options;
    const { consumers } = await this.#bus.jetstreamManager();
    const settings = {
      filter_subject: subject,
      ack_wait: nanos(ackWaitMs),
      max_ack_pending: maxInFlight,
      max_deliver: -1,
    };
    try {
      const { config } = await consumers.info(stream, durable);
      const isSame = Object.entries(settings).every(([name, value]) => config[name as keyof typeof config] === value);
      if (!isSame) await consumers.update(stream, durable, settings);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await consumers.add(stream, {
        ...settings,
        durable_name: durable,
        ack_policy: AckPolicy.Explicit,
        deliver_policy: DeliverPolicy.All,
      });
    }
  }

  async #consume(): Promise<void> {
    const consumer = await this.#bus.js.consumers.get(this.#options.stream, this.#options.durable);
    if (this.#stopSignal.signal.aborted) return;
    const messages = await consumer.consume({
      max_messages: this.#options.maxInFlight,
      ...heartbeatOptions,
      // A deleted consumer or stream ends the loop, so that it is created again.
      abort_on_missing_resource: true,
      callback: (message: JsMsg) => this.#onMessage(message),
    });
    this.#messages = messages;
    watchHeartbeats(messages);
    if (this.#stopSignal.signal.aborted) messages.stop();
    const error = await messages.closed();
    this.#messages = undefined;
    if (error instanceof Error) throw error;
  }

  #onMessage(message: JsMsg): void {
    if (this.#stopSignal.signal.aborted) {
      this.#acknowledge(message, () => message.nak());
      return;
    }
    const handling = this.#handle(message).finally(() => this.#handling.delete(handling));
    this.#handling.add(handling);
  }

  async #handle(message: JsMsg): Promise<void> {
    const progressTimer = setInterval(
      () => this.#acknowledge(message, () => message.working()),
      Math.max(100, this.#options.ackWaitMs / 3),
    );
    try {
      await traceProcessing(
        message.subject,
        message.headers,
        () => this.#options.handler(toJetStreamMessage(message)),
        (error) => !(error instanceof RetryLater),
      );
      this.#acknowledge(message, () => message.ack());
    } catch (error) {
      if (!(error instanceof RetryLater)) this.#options.onError(error);
      const delayMs = error instanceof RetryLater ? error.delayMs : this.#retryDelayMs(message.info.deliveryCount);
      this.#acknowledge(message, () => message.nak(delayMs));
    } finally {
      clearInterval(progressTimer);
    }
  }

  #retryDelayMs(deliveryCount: number): number {
    return this.#options.retryDelayMs * Math.min(60, 2 ** Math.min(10, deliveryCount - 1));
  }

  /** Sends an acknowledgement; a lost one is harmless, because the message is redelivered. */
  #acknowledge(message: JsMsg, send: () => void): void {
    try {
      if (!this.#bus.nc.isClosed()) send();
    } catch (error) {
      this.#options.onError(new Error(`no acknowledgement of ${message.subject}`, { cause: error }));
    }
  }
}

const toJetStreamMessage = (message: JsMsg): JetStreamMessage => ({
  subject: message.subject,
  data: message.data,
  header: (name) => message.headers?.get(name) ?? '',
  deliveryCount: message.info.deliveryCount,
  sequence: message.seq,
  storedAtMs: Math.floor(message.info.timestampNanos / 1e6),
});
