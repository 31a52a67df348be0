import { randomBytes } from 'node:crypto';
import type { TraceSpan } from '@fleet/service-kit';
import { createInbox, headers, type Msg, type MsgHdrs, type Subscription } from 'nats';
import type { Bus } from './connection.ts';
import { type CommandIdentity, decodeJson, encodeJson, headerNames } from './contract.ts';
import { checkOutcome, type DeviceCommand, deviceCommandSubject, type Outcome } from './device-command.ts';
import { injectTrace, startSendSpan } from './trace-messages.ts';

/** Interval of retries without a reply: a reply that is published during a broker outage is lost silently. */
const retryIntervalMs = 3_000;
/** Default time for which a claimed terminal is retried: it may return after a restart of the broker or its gateway. */
const defaultReturnTimeoutMs = 5_000;
/** Longest wait for state that cannot be read: such state says nothing about the terminal. */
const unknownStateTimeoutMs = 5_000;
const claimedRetryIntervalMs = 200;
/** New commands fail immediately after a broker outage of this length. */
const brokerUnavailableAfterMs = 2_000;

/** One command to one terminal. */
interface DeviceCommandRequest {
  /** Canonical terminal number (`terminalKey`). */
  readonly imei: string;
  readonly command: DeviceCommand;
  readonly correlationId: string;
  /** `Command-Id` that the caller assigned and that outlives this process; by default one is generated. */
  readonly identity?: CommandIdentity | undefined;
  /** Remaining time to wait for the terminal. */
  readonly timeoutMs: number;
  /**
   * Returns true if Redis has a session of the terminal, or expects one. Called only if no gateway accepted the
   * command.
   */
  readonly isClaimed: (imei: string) => Promise<boolean>;
}

interface DeviceCommandClientOptions {
  /** Longest wait for a terminal that is claimed although no gateway holds it. */
  readonly returnTimeoutMs?: number;
}

/** Sends commands to terminals and matches the replies. Uses one reply subscription for each process. */
export class DeviceCommandClient {
  readonly #bus: Bus;
  readonly #returnTimeoutMs: number;
  readonly #prefix: string;
  readonly #subscription: Subscription;
  readonly #pending = new Map<string, PendingRequest>();
  readonly #removeReconnectListener: () => void;

  constructor(bus: Bus, { returnTimeoutMs = defaultReturnTimeoutMs }: DeviceCommandClientOptions = {}) {
    this.#bus = bus;
    this.#returnTimeoutMs = returnTimeoutMs;
    this.#prefix = createInbox();
    // Compiled before the first reply, so that the device's response time does not include it.
    checkOutcome.compile();
    this.#subscription = bus.nc.subscribe(`${this.#prefix}.>`, {
      callback: (error, message) => this.#onReply(error, message),
    });
    this.#removeReconnectListener = bus.onReconnect(() => {
      for (const request of this.#pending.values()) request.send();
    });
  }

  /** Number of commands without an outcome. */
  get inFlight(): number {
    return this.#pending.size;
  }

  /** Sends a command and returns its outcome. Never throws for faults of a device or of the broker. */
  send(request: DeviceCommandRequest): Promise<Outcome> {
    if (this.#bus.downForMs() > brokerUnavailableAfterMs) return Promise.resolve({ kind: 'brokerAway' });
    // A returning caller may send one command twice at a time: each request has its own replies.
    const requestId = randomBytes(16).toString('hex');
    const span = startSendSpan('request', deviceCommandSubject(request.imei));
    return new Promise((resolve) => {
      const pending = new PendingRequest({
        bus: this.#bus,
        returnTimeoutMs: this.#returnTimeoutMs,
        replyPrefix: `${this.#prefix}.${requestId}`,
        commandId: request.identity?.id ?? requestId,
        request,
        span,
        onOutcome: (outcome) => {
          this.#pending.delete(requestId);
          if (outcome.kind !== 'answered') span?.fail(outcome.kind);
          span?.end();
          resolve(outcome);
        },
      });
      this.#pending.set(requestId, pending);
      pending.start();
    });
  }

  /** Ends every pending command as timed out and closes the subscription. */
  stop(): void {
    this.#removeReconnectListener();
    for (const request of this.#pending.values()) request.finish({ kind: 'timedOut' });
    this.#subscription.unsubscribe();
  }

  #onReply(error: Error | null, message: Msg): void {
    if (error) return;
    const [requestId = '', attemptNo = ''] = message.subject.slice(this.#prefix.length + 1).split('.');
    const pending = this.#pending.get(requestId);
    if (pending === undefined) return;
    if (message.data.length === 0 && message.headers?.code === 503) pending.onNoResponders(Number(attemptNo));
    else pending.onReply(message.data);
  }
}

interface PendingRequestOptions {
  readonly bus: Bus;
  readonly returnTimeoutMs: number;
  readonly replyPrefix: string;
  readonly commandId: string;
  readonly request: DeviceCommandRequest;
  readonly span: TraceSpan | undefined;
  readonly onOutcome: (outcome: Outcome) => void;
}

class PendingRequest {
  readonly #bus: Bus;
  readonly #returnTimeoutMs: number;
  readonly #replyPrefix: string;
  readonly #commandId: string;
  readonly #request: DeviceCommandRequest;
  readonly #span: TraceSpan | undefined;
  readonly #onOutcome: (outcome: Outcome) => void;
  readonly #startedAtMs = performance.now();
  /** Numbers of the requests that did not end in "no responders": any of them may have reached a gateway. */
  readonly #uncertain = new Set<number>();
  #attempts = 0;
  #finished = false;
  #hasReturnTimedOut = false;
  #hasUnknownStateTimedOut = false;
  #deadlineTimer: NodeJS.Timeout | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #claimedRetryTimer: NodeJS.Timeout | undefined;
  #brokerTimer: NodeJS.Timeout | undefined;
  #returnTimer: NodeJS.Timeout | undefined;
  #unknownStateTimer: NodeJS.Timeout | undefined;

  constructor({ bus, returnTimeoutMs, replyPrefix, commandId, request, span, onOutcome }: PendingRequestOptions) {
    this.#bus = bus;
    this.#returnTimeoutMs = returnTimeoutMs;
    this.#replyPrefix = replyPrefix;
    this.#commandId = commandId;
    this.#request = request;
    this.#span = span;
    this.#onOutcome = onOutcome;
    // The previous request has number 0.
    if (request.identity?.isRetry === true) this.#uncertain.add(0);
  }

  start(): void {
    this.#deadlineTimer = setTimeout(() => this.#onDeadline(), this.#request.timeoutMs);
    this.#retryTimer = setInterval(() => this.send(), retryIntervalMs);
    this.send();
    // If the broker does not return soon, the command fails early instead of using its whole time-out.
    if (this.#attempts > 0) return;
    this.#brokerTimer = setTimeout(() => {
      if (this.#attempts === 0) this.finish({ kind: 'brokerAway' });
    }, brokerUnavailableAfterMs - this.#bus.downForMs());
  }

  send(): void {
    // Messages published without a connection are dropped silently; the reconnect sends this one again.
    if (this.#finished || !this.#bus.isUp()) return;
    const attemptNo = this.#attempts + 1;
    try {
      this.#bus.nc.publish(deviceCommandSubject(this.#request.imei), encodeJson(this.#request.command), {
        reply: `${this.#replyPrefix}.${attemptNo}`,
        headers: this.#headers(),
      });
    } catch {
      // The connection was closed permanently: this process is stopping, and the deadline ends the wait.
      return;
    }
    this.#attempts = attemptNo;
    this.#uncertain.add(attemptNo);
  }

  #headers(): MsgHdrs {
    const messageHeaders = headers();
    if (this.#span !== undefined) injectTrace(this.#span, messageHeaders);
    messageHeaders.set(headerNames.correlationId, this.#request.correlationId);
    messageHeaders.set(headerNames.commandId, this.#commandId);
    const commandAgeMs = performance.now() - this.#startedAtMs;
    messageHeaders.set(headerNames.timeoutMs, String(Math.max(1, Math.round(this.#request.timeoutMs - commandAgeMs))));
    if (this.#uncertain.size === 0) return messageHeaders;
    messageHeaders.set(headerNames.retry, String(this.#attempts));
    // The time at which another process first sent the command is unknown here.
    if (this.#request.identity?.isRetry !== true)
      messageHeaders.set(headerNames.commandAgeMs, String(Math.ceil(commandAgeMs)));
    return messageHeaders;
  }

  onReply(data: Uint8Array): void {
    let reply: unknown;
    try {
      reply = decodeJson(data);
    } catch {
      // Not JSON: reported below as an invalid outcome.
      reply = undefined;
    }
    if (checkOutcome(reply)) this.finish(reply as Outcome);
    else this.finish({ kind: 'unreadable', detail: 'The gateway sent a reply that is not an outcome.' });
  }

  /** Handles "no responders" for one of the requests. */
  onNoResponders(attemptNo: number): void {
    if (this.#finished) return;
    this.#uncertain.delete(attemptNo);
    // Another request may have reached a gateway that died since: the device's response can still arrive over its next
    // session.
    if (this.#uncertain.size > 0) return;
    if (this.#hasReturnTimedOut) {
      this.finish({ kind: 'notConnected' });
      return;
    }
    this.#returnTimer ??= setTimeout(() => this.#onReturnTimeout(), this.#returnTimeoutMs);
    this.#unknownStateTimer ??= setTimeout(
      () => this.#onUnknownStateTimeout(),
      Math.min(unknownStateTimeoutMs, this.#returnTimeoutMs),
    );
    this.#request.isClaimed(this.#request.imei).then(
      (isClaimed) => {
        clearTimeout(this.#unknownStateTimer);
        this.#hasUnknownStateTimedOut = false;
        this.#unknownStateTimer = undefined;
        this.#retryIf(isClaimed);
      },
      () => this.#retryIf(!this.#hasUnknownStateTimedOut),
    );
  }

  finish(outcome: Outcome): void {
    if (this.#finished) return;
    this.#finished = true;
    clearTimeout(this.#deadlineTimer);
    clearInterval(this.#retryTimer);
    clearTimeout(this.#claimedRetryTimer);
    clearTimeout(this.#brokerTimer);
    clearTimeout(this.#returnTimer);
    clearTimeout(this.#unknownStateTimer);
    this.#onOutcome(outcome);
  }

  /** Ends a command that never reached a gateway: the terminal did not return. */
  #onDeadline(): void {
    const isCertain = this.#attempts > 0 && this.#uncertain.size === 0;
    this.finish({ kind: isCertain ? 'notConnected' : 'timedOut' });
  }

  #onReturnTimeout(): void {
    this.#hasReturnTimedOut = true;
    if (this.#uncertain.size === 0) this.finish({ kind: 'notConnected' });
  }

  /** Also ends a read of the state that never completes. */
  #onUnknownStateTimeout(): void {
    this.#hasUnknownStateTimedOut = true;
    if (this.#uncertain.size === 0) this.finish({ kind: 'notConnected' });
  }

  #retryIf(isClaimed: boolean): void {
    if (this.#finished || this.#uncertain.size > 0) return;
    clearTimeout(this.#claimedRetryTimer);
    if (isClaimed) this.#claimedRetryTimer = setTimeout(() => this.send(), claimedRetryIntervalMs);
    else this.finish({ kind: 'notConnected' });
  }
}
