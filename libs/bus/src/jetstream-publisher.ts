import type { TraceSpan } from '@fleet/service-kit';
import { headers as createHeaders, createInbox, type Msg, type MsgHdrs, type Subscription } from 'nats';
import type { Bus } from './connection.ts';
import { decodeJson } from './contract.ts';
import { injectTrace, startSendSpan } from './trace-messages.ts';

interface PendingMessage {
  readonly subject: string;
  readonly payload: Uint8Array;
  readonly headers: MsgHdrs | undefined;
  readonly onDone: (stored: boolean) => void;
  readonly firstAtMs: number;
  /** Ends with the result. */
  readonly span: TraceSpan | undefined;
  /** When to publish again without a confirmation. */
  retryAtMs: number;
}

/** Settings of a JetStreamPublisher; every value has a default. */
interface JetStreamPublisherOptions {
  /** Time after which an unconfirmed message is published again. */
  readonly ackTimeoutMs?: number;
  /** Time after which an unconfirmed message is given up: its source will send it again. */
  readonly timeoutMs?: number;
  /** Limit of unconfirmed payload bytes; more is rejected, so that an outage costs no memory. */
  readonly maxBytes?: number;
  /** Called with each rejection by the broker, such as a missing stream. */
  readonly onRejected?: (detail: string) => void;
  /** True if each message begins a trace, as messages of terminals do. By default it belongs to the active span. */
  readonly beginsTraces?: boolean;
}

/**
 * Publishes to JetStream and reports when a message is stored, at least once. The client drops messages silently during
 * an outage, so everything unconfirmed is published again after a reconnect, a time-out or a rejection. Uses one reply
 * subscription and no promise for each message.
 */
export class JetStreamPublisher {
  readonly #bus: Bus;
  readonly #ackTimeoutMs: number;
  readonly #timeoutMs: number;
  readonly #maxBytes: number;
  readonly #onRejected: (detail: string) => void;
  readonly #spanOptions: { readonly beginsTrace: boolean };
  readonly #prefix: string;
  readonly #subscription: Subscription;
  readonly #removeReconnectListener: () => void;
  readonly #retryTimer: NodeJS.Timeout;
  readonly #pending = new Map<string, PendingMessage>();
  #pendingBytes = 0;
  #lastToken = 0;

  constructor(bus: Bus, options: JetStreamPublisherOptions = {}) {
    this.#bus = bus;
    this.#ackTimeoutMs = options.ackTimeoutMs ?? 5_000;
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#maxBytes = options.maxBytes ?? 16 * 1024 * 1024;
    this.#onRejected = options.onRejected ?? (() => undefined);
    this.#spanOptions = { beginsTrace: options.beginsTraces ?? false };
    this.#prefix = createInbox();
    this.#subscription = bus.nc.subscribe(`${this.#prefix}.*`, {
      callback: (error, message) => {
        if (error === null) this.#onReply(message);
      },
    });
    this.#removeReconnectListener = bus.onReconnect(() => this.#sendAll());
    this.#retryTimer = setInterval(() => this.#sendOverdue(), Math.min(500, this.#ackTimeoutMs / 2));
    this.#retryTimer.unref();
  }

  /** Number of unconfirmed messages. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Unconfirmed payload bytes. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /**
   * Publishes a message. Calls `done` once, asynchronously: true if JetStream stored it, false if it was given up.
   * Returns false, and never calls `done`, if too much is pending. The payload must not change until then.
   */
  publish(subject: string, payload: Uint8Array, onDone: (stored: boolean) => void, headers?: MsgHdrs): boolean {
    if (this.#pendingBytes + payload.length > this.#maxBytes) return false;
    const now = performance.now();
    this.#lastToken += 1;
    const token = this.#lastToken.toString(36);
    const span = startSendSpan('publish', subject, this.#spanOptions);
    const entry: PendingMessage = {
      subject,
      payload,
      headers: span === undefined ? headers : withTrace(span, headers),
      onDone,
      span,
      firstAtMs: now,
      retryAtMs: now + this.#ackTimeoutMs,
    };
    this.#pending.set(token, entry);
    this.#pendingBytes += payload.length;
    this.#send(token, entry);
    return true;
  }

  /** Waits until everything is confirmed or given up, or until the time-out. */
  async flush(timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (this.#pending.size > 0 && performance.now() < deadlineMs)
      await new Promise<void>((resolve) => {
        setTimeout(resolve, 10);
      });
  }

  /** Gives up pending messages and closes the subscription. */
  stop(): void {
    clearInterval(this.#retryTimer);
    this.#removeReconnectListener();
    this.#subscription.unsubscribe();
    for (const token of this.#pending.keys()) this.#finish(token, false);
  }

  #send(token: string, entry: PendingMessage): void {
    // Without a connection the message would be dropped silently: the reconnect publishes it.
    if (!this.#bus.isUp()) return;
    const reply = `${this.#prefix}.${token}`;
    try {
      this.#bus.nc.publish(
        entry.subject,
        entry.payload,
        entry.headers === undefined ? { reply } : { reply, headers: entry.headers },
      );
    } catch (error) {
      // Larger than the broker accepts, or the connection was closed permanently: no later attempt would succeed.
      this.#onRejected(error instanceof Error ? error.message : String(error));
      setImmediate(() => this.#finish(token, false));
    }
  }

  #onReply(message: Msg): void {
    const token = message.subject.slice(this.#prefix.length + 1);
    const entry = this.#pending.get(token);
    if (entry === undefined) return;
    const rejection = parseRejection(message);
    if (rejection === undefined) {
      this.#finish(token, true);
      return;
    }
    this.#onRejected(rejection);
    // The stream or its leader is missing: the timer publishes again.
    entry.retryAtMs = performance.now() + Math.min(500, this.#ackTimeoutMs);
  }

  #finish(token: string, stored: boolean): void {
    const entry = this.#pending.get(token);
    if (entry === undefined) return;
    this.#pending.delete(token);
    this.#pendingBytes -= entry.payload.length;
    if (!stored) entry.span?.fail('not_stored');
    entry.span?.end();
    entry.onDone(stored);
  }

  #sendAll(): void {
    const now = performance.now();
    for (const [token, entry] of this.#pending) {
      entry.retryAtMs = now + this.#ackTimeoutMs;
      this.#send(token, entry);
    }
  }

  #sendOverdue(): void {
    const now = performance.now();
    for (const [token, entry] of this.#pending) {
      if (now - entry.firstAtMs >= this.#timeoutMs) this.#finish(token, false);
      else if (now >= entry.retryAtMs && this.#bus.isUp()) {
        entry.retryAtMs = now + this.#ackTimeoutMs;
        this.#send(token, entry);
      }
    }
  }
}

function withTrace(span: TraceSpan, headers = createHeaders()): MsgHdrs {
  injectTrace(span, headers);
  return headers;
}

function parseRejection(message: Msg): string | undefined {
  if (message.data.length === 0) return message.headers?.code === 503 ? 'no stream has the subject' : 'empty reply';
  try {
    const reply = decodeJson(message.data) as { stream?: string; error?: { description?: string } };
    if (reply.error !== undefined) return reply.error.description ?? 'refused';
    return reply.stream === undefined ? 'reply without a stream' : undefined;
  } catch {
    // The replying server has no JetStream.
    return 'reply that is not JSON';
  }
}
