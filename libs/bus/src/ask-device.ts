import { randomBytes } from 'node:crypto';
import { createInbox, headers, type Msg, type MsgHdrs, type Subscription } from 'nats';
import type { Bus } from './connection.ts';
import { type CommandName, decodeJson, encodeJson, headerNames } from './contract.ts';
import { checkOutcome, type DeviceCommand, deviceCommandSubject, type Outcome } from './device-command.ts';

/** How often an unanswered command is asked again: a reply that was made while the broker was away is lost without a trace. */
const reAskEveryMs = 3_000;
/** A terminal may come back after a restart of the broker or of its gateway: a claimed one is retried for this long by default. */
const defaultReturnWaitMs = 5_000;
/** State that can not be read says nothing about the terminal: a caller waits no longer than this for it. */
const unknownStateWaitMs = 5_000;
const claimedRetryEveryMs = 200;
/** New commands fail at once when the broker has been away for this long. */
const brokerAwayAfterMs = 2_000;

/** One command to one terminal. */
export interface DeviceAsk {
  /** Canonical terminal number (`terminalKey`). */
  readonly imei: string;
  readonly command: DeviceCommand;
  readonly correlationId: string;
  /** The command's name where it has one that outlives this process; else it gets one here. */
  readonly name?: CommandName | undefined;
  /** What is left of the wait for the device. */
  readonly timeoutMs: number;
  /**
   * Returns true when a session of the terminal exists or is expected, by the state in Redis. Called only when no gateway has taken the command.
   */
  readonly isClaimed: (imei: string) => Promise<boolean>;
}

export interface DeviceAskerOptions {
  /** How long a command waits for a terminal that is claimed and that no gateway holds. */
  readonly returnWaitMs?: number;
}

/** Asks terminals and joins the answers: one reply subscription for a process. */
export class DeviceAsker {
  readonly #bus: Bus;
  readonly #returnWaitMs: number;
  readonly #prefix: string;
  readonly #subscription: Subscription;
  readonly #pending = new Map<string, PendingAsk>();
  readonly #offReconnect: () => void;

  constructor(bus: Bus, { returnWaitMs = defaultReturnWaitMs }: DeviceAskerOptions = {}) {
    this.#bus = bus;
    this.#returnWaitMs = returnWaitMs;
    this.#prefix = createInbox();
    // Compiled before the first reply: a slow first answer counts as the device's.
    checkOutcome.compile();
    this.#subscription = bus.nc.subscribe(`${this.#prefix}.>`, {
      callback: (error, message) => this.#onReply(error, message),
    });
    this.#offReconnect = bus.onReconnect(() => {
      for (const ask of this.#pending.values()) ask.send();
    });
  }

  /** Number of commands without an outcome. */
  get inFlight(): number {
    return this.#pending.size;
  }

  /** Sends a command and answers how it ended; never throws for what a device or the broker may do. */
  ask(ask: DeviceAsk): Promise<Outcome> {
    if (this.#bus.downForMs() > brokerAwayAfterMs) return Promise.resolve({ kind: 'brokerAway' });
    // One command may be asked twice at a time, by a caller that has come back: each ask has its own replies.
    const askId = randomBytes(16).toString('hex');
    return new Promise((resolve) => {
      const pending = new PendingAsk({
        bus: this.#bus,
        returnWaitMs: this.#returnWaitMs,
        replyPrefix: `${this.#prefix}.${askId}`,
        commandId: ask.name?.id ?? askId,
        ask,
        done: (outcome) => {
          this.#pending.delete(askId);
          resolve(outcome);
        },
      });
      this.#pending.set(askId, pending);
      pending.start();
    });
  }

  /** Ends every pending command as timed out and stops listening. */
  stop(): void {
    this.#offReconnect();
    for (const ask of this.#pending.values()) ask.finish({ kind: 'timedOut' });
    this.#subscription.unsubscribe();
  }

  #onReply(error: Error | null, message: Msg): void {
    if (error) return;
    const [askId = '', askNo = ''] = message.subject.slice(this.#prefix.length + 1).split('.');
    const pending = this.#pending.get(askId);
    if (pending === undefined) return;
    if (message.data.length === 0 && message.headers?.code === 503) pending.onNotTaken(Number(askNo));
    else pending.onReply(message.data);
  }
}

interface PendingAskOptions {
  readonly bus: Bus;
  readonly returnWaitMs: number;
  readonly replyPrefix: string;
  readonly commandId: string;
  readonly ask: DeviceAsk;
  readonly done: (outcome: Outcome) => void;
}

class PendingAsk {
  readonly #bus: Bus;
  readonly #returnWaitMs: number;
  readonly #replyPrefix: string;
  readonly #commandId: string;
  readonly #ask: DeviceAsk;
  readonly #done: (outcome: Outcome) => void;
  readonly #startedAtMs = performance.now();
  /** Numbers of the asks that did not end in "no responders": any of them may have reached a gateway. */
  readonly #uncertain = new Set<number>();
  #asks = 0;
  #finished = false;
  #isReturnTimeOver = false;
  #isUnknownTimeOver = false;
  #deadline: NodeJS.Timeout | undefined;
  #reAsk: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #giveUp: NodeJS.Timeout | undefined;
  #returnLimit: NodeJS.Timeout | undefined;
  #unknownLimit: NodeJS.Timeout | undefined;

  constructor({ bus, returnWaitMs, replyPrefix, commandId, ask, done }: PendingAskOptions) {
    this.#bus = bus;
    this.#returnWaitMs = returnWaitMs;
    this.#replyPrefix = replyPrefix;
    this.#commandId = commandId;
    this.#ask = ask;
    this.#done = done;
    // The ask of before this one has number 0.
    if (ask.name?.isRepeated === true) this.#uncertain.add(0);
  }

  start(): void {
    this.#deadline = setTimeout(() => this.#onDeadline(), this.#ask.timeoutMs);
    this.#reAsk = setInterval(() => this.send(), reAskEveryMs);
    this.send();
    // An outage has just begun: what is not sent before it has lasted too long is not worth the whole wait.
    if (this.#asks > 0) return;
    this.#giveUp = setTimeout(() => {
      if (this.#asks === 0) this.finish({ kind: 'brokerAway' });
    }, brokerAwayAfterMs - this.#bus.downForMs());
  }

  send(): void {
    // What is published without a connection is dropped silently; the reconnect asks again.
    if (this.#finished || !this.#bus.isUp()) return;
    const askNo = this.#asks + 1;
    try {
      this.#bus.nc.publish(deviceCommandSubject(this.#ask.imei), encodeJson(this.#ask.command), {
        reply: `${this.#replyPrefix}.${askNo}`,
        headers: this.#headers(),
      });
    } catch {
      // The connection was closed for good: this process is stopping, and the deadline ends the wait.
      return;
    }
    this.#asks = askNo;
    this.#uncertain.add(askNo);
  }

  #headers(): MsgHdrs {
    const head = headers();
    head.set(headerNames.correlationId, this.#ask.correlationId);
    head.set(headerNames.commandId, this.#commandId);
    const askedForMs = performance.now() - this.#startedAtMs;
    head.set(headerNames.timeoutMs, String(Math.max(1, Math.round(this.#ask.timeoutMs - askedForMs))));
    if (this.#uncertain.size === 0) return head;
    head.set(headerNames.reAsk, String(this.#asks));
    // Since when another process has asked is not known here.
    if (this.#ask.name?.isRepeated !== true) head.set(headerNames.askedForMs, String(Math.ceil(askedForMs)));
    return head;
  }

  onReply(data: Uint8Array): void {
    let reply: unknown;
    try {
      reply = decodeJson(data);
    } catch {
      // Not JSON: reported below as what it is.
      reply = undefined;
    }
    if (checkOutcome(reply)) this.finish(reply as Outcome);
    else this.finish({ kind: 'unreadable', detail: 'The gateway sent a reply that is not an outcome.' });
  }

  /** No gateway has taken one of the requests. */
  onNotTaken(askNo: number): void {
    if (this.#finished) return;
    this.#uncertain.delete(askNo);
    // Another ask may have reached a gateway that died since: the device's answer can still come by its next session.
    if (this.#uncertain.size > 0) return;
    if (this.#isReturnTimeOver) {
      this.finish({ kind: 'notConnected' });
      return;
    }
    this.#returnLimit ??= setTimeout(() => this.#onReturnLimit(), this.#returnWaitMs);
    this.#unknownLimit ??= setTimeout(() => this.#onUnknownLimit(), Math.min(unknownStateWaitMs, this.#returnWaitMs));
    this.#ask.isClaimed(this.#ask.imei).then(
      (claimed) => {
        clearTimeout(this.#unknownLimit);
        this.#isUnknownTimeOver = false;
        this.#unknownLimit = undefined;
        this.#retryIf(claimed);
      },
      () => this.#retryIf(!this.#isUnknownTimeOver),
    );
  }

  finish(outcome: Outcome): void {
    if (this.#finished) return;
    this.#finished = true;
    clearTimeout(this.#deadline);
    clearInterval(this.#reAsk);
    clearTimeout(this.#retry);
    clearTimeout(this.#giveUp);
    clearTimeout(this.#returnLimit);
    clearTimeout(this.#unknownLimit);
    this.#done(outcome);
  }

  /** What never reached a gateway was not sent: the terminal has not come back. */
  #onDeadline(): void {
    const isCertain = this.#asks > 0 && this.#uncertain.size === 0;
    this.finish({ kind: isCertain ? 'notConnected' : 'timedOut' });
  }

  #onReturnLimit(): void {
    this.#isReturnTimeOver = true;
    if (this.#uncertain.size === 0) this.finish({ kind: 'notConnected' });
  }

  /** Also ends a read of the state that never ends. */
  #onUnknownLimit(): void {
    this.#isUnknownTimeOver = true;
    if (this.#uncertain.size === 0) this.finish({ kind: 'notConnected' });
  }

  #retryIf(claimed: boolean): void {
    if (this.#finished || this.#uncertain.size > 0) return;
    clearTimeout(this.#retry);
    if (claimed) this.#retry = setTimeout(() => this.send(), claimedRetryEveryMs);
    else this.finish({ kind: 'notConnected' });
  }
}
