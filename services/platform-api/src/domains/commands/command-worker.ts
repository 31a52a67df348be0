import { randomBytes } from 'node:crypto';
import { commandQueued, commandSent, subscribe } from '@fleet/bus';
import { readDevices } from '@fleet/storage';
import type { Config } from '../../assembly/config.ts';
import type { Deps } from '../../platform/deps.ts';
import { mayStillSend } from '../partners/command-level.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { notifyFailures, publishUpdate } from './events.ts';
import { type AttemptResult, isRepeatable } from './rules.ts';
import type { Attempt, Command } from './schema.ts';
import { type AttemptOptions, sendCommand } from './send.ts';
import { type CommandChange, CommandQueue, type WaitingCommand } from './store.ts';

type WorkerDeps = Pick<
  Deps,
  'asker' | 'bus' | 'database' | 'log' | 'notifications' | 'partnerChannels' | 'records' | 'redis'
>;

/** How often, for how long, and how much. */
export interface WorkerTimings {
  readonly pollIntervalMs: number;
  /** What a terminal may take to answer. */
  readonly replyTimeoutMs: number;
  /** A replica that has not renewed its hold of a queue for so long is dead. */
  readonly leaseTtlMs: number;
  /** Commands that are looked at in one go. */
  readonly pageSize: number;
  /** Queues that one replica looks after at the same time. */
  readonly concurrency: number;
}

/** The times that the settings say. */
export const workerTimings = (config: Pick<Config, 'COMMAND_POLL_MS' | 'COMMAND_REPLY_TIMEOUT_MS'>): WorkerTimings => ({
  pollIntervalMs: config.COMMAND_POLL_MS,
  replyTimeoutMs: config.COMMAND_REPLY_TIMEOUT_MS,
  leaseTtlMs: 15_000,
  pageSize: 10_000,
  concurrency: 500,
});

/** Gateways remember what became of a command for 150 s: a little less. */
const gatewayMemoryMs = 120_000;
const unansweredDelayMs = 30_000;
const unknownDelayMs = 1_000;
const wakeDelayMs = 60_000;
/** Nobody says when a device of a partner is there again, and its server is not to be asked all the time. */
const partnerDelayMs = 60_000;
/** Turns of more queues are not remembered: they begin again. */
const maxTrackedQueues = 100_000;

interface SentFrame {
  readonly messageId: number;
  readonly serialNo: number;
}

/**
 * Works the queues off: one command at a time for each terminal, while it is connected. Any number of replicas do so; a lease says which of them has a
 * terminal. What was under way when a replica died is taken up by the next under its name, so that the terminal gets it once.
 */
export class CommandWorker {
  readonly #deps: WorkerDeps;
  readonly #timings: WorkerTimings;
  readonly #queue: CommandQueue;
  readonly #owner = randomBytes(8).toString('hex');
  readonly #queues = new Map<string, Promise<void>>();
  /** The number of the last turn that a queue had here, of those that wait. */
  readonly #lastServed = new Map<string, number>();
  #roundNo = 0;
  /** Until when queues are left alone whose device cannot be reached. */
  readonly #cooldowns = new Map<string, number>();
  /** True while more queues wait than are looked after at the same time. */
  #isSaturated = false;
  /** What it is to be once all that wait have been looked at. */
  #wasSaturated = false;
  /** Attempts of this process, by their name. */
  readonly #attempts = new Map<string, { readonly id: number; sent?: SentFrame }>();
  readonly #subscriptions: readonly { stop(): void }[];
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  /** The last command that was looked at; 0 before the oldest. */
  #cursor = 0;
  #isStopped = false;

  constructor(deps: WorkerDeps, timings: WorkerTimings) {
    this.#deps = deps;
    this.#timings = timings;
    this.#queue = new CommandQueue(deps.database);
    const onError = (error: unknown): void => deps.log.warn({ err: error }, 'a message about commands is not valid');
    this.#subscriptions = [
      subscribe(deps.bus, commandQueued, onError, ({ imei }) => this.#startQueue(imei, false)),
      subscribe(deps.bus, commandSent, onError, (sent) => this.#markSent(sent)),
    ];
    this.#polling = this.#schedulePoll();
  }

  /** Leaves what is under way to the next replica, or to the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const subscription of this.#subscriptions) subscription.stop();
    await this.#polling;
    await Promise.allSettled([...this.#queues.keys()].map((imei) => this.#queue.releaseLease(imei, this.#owner)));
  }

  async #schedulePoll(): Promise<void> {
    try {
      await this.#poll();
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'the queue of commands could not be read');
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#polling = this.#schedulePoll();
    }, this.#timings.pollIntervalMs);
  }

  async #poll(): Promise<void> {
    const now = new Date();
    await this.#queue.expire(now);
    // What cannot be told of now is at the next look; the queue does not wait for it.
    await notifyFailures(this.#deps).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'failures of commands could not be told');
    });
    const { pageSize } = this.#timings;
    const waiting = await this.#queue.listWaiting(pageSize, this.#cursor);
    const isFirst = this.#cursor === 0;
    const isLast = waiting.length < pageSize;
    // What waits for terminals that are away for weeks does not hide what came later.
    this.#cursor = isLast ? 0 : (waiting.at(-1)?._id ?? 0);
    const due = waiting.filter(({ flight, notBefore }) => flight !== null || notBefore === null || notBefore <= now);
    this.#evictStale(isFirst && isLast ? new Set(waiting.map(({ imei }) => imei)) : null);
    const imeis = [...new Set(due.map(({ imei }) => imei))].filter((imei) => !this.#isCoolingDown(imei));
    if (imeis.length > 0) await this.#startQueues(imeis, due);
    if (!isLast) return;
    this.#isSaturated = this.#wasSaturated;
    this.#wasSaturated = false;
  }

  async #startQueues(imeis: readonly string[], due: readonly WaitingCommand[]): Promise<void> {
    const sessions = await readDevices(this.#deps.redis, imeis);
    const viaPartners = await this.#deps.partnerChannels.reachable(imeis.filter((imei) => !sessions.has(imei)));
    const connected = new Set([...sessions.keys(), ...viaPartners]);
    // A wake-up is for those that are not connected too, and what is under way has to come to its end.
    const always = new Set(
      due.filter(({ type, flight }) => type === 'wakeup' || flight !== null).map(({ imei }) => imei),
    );
    for (const imei of this.#leastRecentlyServed(imeis))
      if (connected.has(imei) || always.has(imei)) this.#startQueue(imei, sessions.has(imei));
  }

  /** Forgets queues that nothing waits in, where all that wait are known, and rests that are over. */
  #evictStale(allWaiting: ReadonlySet<string> | null): void {
    if (allWaiting !== null)
      for (const imei of this.#lastServed.keys()) if (!allWaiting.has(imei)) this.#lastServed.delete(imei);
    for (const imei of this.#cooldowns.keys()) if (!this.#isCoolingDown(imei)) this.#cooldowns.delete(imei);
  }

  /** Those that have waited longest for their turn first: many terminals that are silent do not hide those that answer. */
  #leastRecentlyServed(imeis: readonly string[]): string[] {
    const lastServed = (imei: string): number => this.#lastServed.get(imei) ?? 0;
    return imeis.toSorted((one, other) => lastServed(one) - lastServed(other));
  }

  #isCoolingDown(imei: string): boolean {
    return (this.#cooldowns.get(imei) ?? 0) > performance.now();
  }

  /** Works one queue off in the background, unless that is being done. */
  #startQueue(imei: string, isConnected: boolean): void {
    if (this.#isStopped || this.#queues.has(imei) || this.#isCoolingDown(imei)) return;
    if (this.#queues.size >= this.#timings.concurrency) {
      this.#isSaturated = true;
      this.#wasSaturated = true;
      return;
    }
    if (this.#lastServed.size > maxTrackedQueues) this.#lastServed.clear();
    this.#roundNo += 1;
    this.#lastServed.set(imei, this.#roundNo);
    const draining = this.#drainQueue(imei, isConnected)
      .catch((error: unknown) =>
        this.#deps.log.warn({ err: error, imei }, 'a queue of commands could not be worked off'),
      )
      .finally(() => this.#queues.delete(imei));
    this.#queues.set(imei, draining);
  }

  async #drainQueue(imei: string, wasConnected: boolean): Promise<void> {
    const lease = { isHeld: await this.#renewLease(imei) };
    if (!lease.isHeld) return;
    const renewal = setInterval(() => {
      this.#renewLease(imei).then(
        (held) => {
          lease.isHeld = held;
        },
        (error: unknown) => this.#deps.log.warn({ err: error }, 'a lease could not be renewed'),
      );
    }, this.#timings.leaseTtlMs / 3);
    try {
      let isConnected = wasConnected;
      // Another replica has a queue that is not held any more; where others wait, they have a turn between two commands.
      while (!this.#isStopped && (await this.#processNext(imei, isConnected)) && lease.isHeld && !this.#isSaturated)
        isConnected = (await readDevices(this.#deps.redis, [imei])).has(imei);
    } finally {
      clearInterval(renewal);
      // A stop has released it already, or is about to.
      if (!this.#isStopped) await this.#queue.releaseLease(imei, this.#owner);
    }
  }

  #renewLease(imei: string): Promise<boolean> {
    return this.#queue.acquireLease(imei, this.#owner, this.#timings.leaseTtlMs);
  }

  /** Makes one attempt; false when there is nothing to do for now. */
  async #processNext(imei: string, wasConnected: boolean): Promise<boolean> {
    const inFlight = await this.#queue.findInFlight(imei);
    if (inFlight?.flight != null) return this.#resumeAttempt(inFlight, inFlight.flight);
    // What is published without a connection would only seem to be under way.
    if (!this.#deps.bus.isUp()) return false;
    const isConnected = wasConnected || (await readDevices(this.#deps.redis, [imei])).has(imei);
    const isReachable = isConnected || (await this.#deps.partnerChannels.reachable([imei])).has(imei);
    const command = await this.#queue.next(imei, new Date(), isReachable ? undefined : ['wakeup']);
    if (command === null) return false;
    if ((await this.#isForPreviousVehicle(command)) || !(await mayStillSend(this.#deps.records, command))) {
      if (await this.#queue.cancel(command, command._id)) this.#publishUpdate(command._id);
      return true;
    }
    const flight: Attempt = { name: randomBytes(16).toString('hex'), startedAt: new Date() };
    if (!(await this.#queue.beginAttempt(command._id, flight))) return true;
    const options = { name: flight.name, isRepeated: false, timeoutMs: this.#timings.replyTimeoutMs };
    return this.#runAttempt(command, options, isReachable && !isConnected);
  }

  /** True where the terminal has left the vehicle that the command is for: it may be in a vehicle of another account now. */
  async #isForPreviousVehicle({ imei, vehicleId }: Command): Promise<boolean> {
    return (await vehicleByImei(this.#deps.records, imei))?._id !== vehicleId;
  }

  /** What an earlier attempt has left: asked for again under its name while gateways know that, else given up. */
  async #resumeAttempt(command: Command, { name, startedAt }: Attempt): Promise<boolean> {
    const ageMs = Date.now() - startedAt.getTime();
    if (command.notBefore !== null && command.notBefore.getTime() > Date.now()) return false;
    if (await this.#isForPreviousVehicle(command)) {
      // What its socket took cannot be taken back.
      if (command.status === 'sent') return this.#applyResult(command, name, { kind: 'unanswered' });
      const canceled = { status: 'canceled', flight: null, notBefore: null, completedAt: new Date() } as const;
      if (await this.#queue.updateAttempt(command._id, name, canceled)) this.#publishUpdate(command._id);
      return true;
    }
    if (ageMs > gatewayMemoryMs) return this.#applyResult(command, name, { kind: 'unanswered' });
    const timeoutMs = Math.max(Math.min(5_000, this.#timings.replyTimeoutMs), this.#timings.replyTimeoutMs - ageMs);
    return this.#runAttempt(command, { name, isRepeated: true, timeoutMs });
  }

  async #runAttempt(command: Command, attempt: AttemptOptions, isViaPartner = false): Promise<boolean> {
    this.#attempts.set(attempt.name, { id: command._id });
    try {
      const result = await sendCommand(this.#deps, command, attempt);
      // The bus is being closed: how it ended is for whoever takes it up.
      if (this.#isStopped) return false;
      const isLater = isViaPartner && result.kind === 'notSent';
      return await this.#applyResult(command, attempt.name, isLater ? { ...result, retryMs: partnerDelayMs } : result);
    } finally {
      this.#attempts.delete(attempt.name);
    }
  }

  /** Notes how an attempt ended; false where the queue has to wait. */
  async #applyResult(command: Command, name: string, result: AttemptResult): Promise<boolean> {
    const change = applyResult(command, result, this.#attempts.get(name)?.sent);
    const isDone = await this.#queue.updateAttempt(command._id, name, change);
    if (isDone && change.status !== undefined) this.#publishUpdate(command._id);
    const { commandId, imei, type } = command;
    if (mustWaitForDevice(command, result)) this.#cooldowns.set(imei, performance.now() + result.retryMs);
    this.#deps.log.info({ commandId, imei, type, ending: result.kind, status: change.status }, 'a command was tried');
    return result.kind !== 'notSent' && result.kind !== 'unknown';
  }

  /** The socket has taken the bytes. */
  #markSent({ commandId: name, messageId, serialNo }: { commandId: string } & SentFrame): void {
    const attempt = this.#attempts.get(name);
    if (attempt === undefined) return;
    attempt.sent = { messageId, serialNo };
    const change = {
      status: 'sent' as const,
      sentAt: new Date(),
      messageId: formatMessageId(messageId),
      serial: serialNo,
    };
    this.#queue
      .updateAttempt(attempt.id, name, change, 'queued')
      .then((isSaved) => {
        if (isSaved) this.#publishUpdate(attempt.id);
      })
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'that a command was sent could not be noted');
      });
  }

  /** In the background: what cannot be told of now is, where it counts, at the next look. */
  #publishUpdate(id: number): void {
    publishUpdate(this.#deps, id).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'a change of a command could not be told');
    });
  }
}

const formatMessageId = (id: number): string => `0x${id.toString(16).padStart(4, '0')}`;

const sentFields = (command: Command, sent: SentFrame | undefined, now: Date): CommandChange => ({
  attempts: command.attempts + 1,
  sentAt: command.sentAt ?? now,
  ...(sent === undefined ? {} : { messageId: formatMessageId(sent.messageId), serial: sent.serialNo }),
});

/** A wake-up of a terminal that is away may cost a message. */
const retryDelayMs = ({ type }: Command, { retryMs }: { retryMs: number }): number =>
  type === 'wakeup' ? Math.max(retryMs, wakeDelayMs) : retryMs;

/** A wake-up is for devices that cannot be reached: it has a time of its own, and holds up nobody. */
const mustWaitForDevice = (
  command: Command,
  result: AttemptResult,
): result is Extract<AttemptResult, { kind: 'notSent' }> =>
  result.kind === 'notSent' && result.isOfDevice === true && command.type !== 'wakeup';

/** What the end of an attempt makes of a command. */
export function applyResult(
  command: Command,
  result: AttemptResult,
  sent?: SentFrame,
  now = new Date(),
): CommandChange {
  const doneFields = { flight: null, notBefore: null, completedAt: now };
  switch (result.kind) {
    case 'answered': {
      const sentChange = { messageId: result.messageId, ...sentFields(command, sent, now) };
      const serial = result.serial ?? sent?.serialNo ?? null;
      const response = result.answer === null ? null : JSON.stringify(result.answer);
      const fields = { ...doneFields, ...sentChange, serial, result: result.result, answer: response };
      return result.result === 'success'
        ? { ...fields, status: 'acknowledged' }
        : { ...fields, status: 'failed', error: 'refused' };
    }
    case 'notSent':
      // What its socket took is not sent again, whatever a gateway that has lost its records says.
      if (command.status === 'sent' || sent !== undefined)
        return applyResult(command, { kind: 'unanswered' }, sent, now);
      return {
        flight: null,
        status: 'queued',
        // Its queue waits, and then it is the first as before.
        notBefore: mustWaitForDevice(command, result) ? null : new Date(now.getTime() + retryDelayMs(command, result)),
      };
    case 'unknown':
      return { notBefore: new Date(now.getTime() + unknownDelayMs) };
    case 'unanswered': {
      const sentChange = sentFields(command, sent, now);
      const isLast = command.attempts + 1 >= command.maxAttempts;
      if (!isRepeatable(command.type) || isLast)
        return { ...doneFields, ...sentChange, status: 'failed', error: 'unanswered' };
      return { ...sentChange, flight: null, status: 'queued', notBefore: new Date(now.getTime() + unansweredDelayMs) };
    }
    case 'failed':
      return { ...doneFields, status: 'failed', error: result.error, errorMessage: result.message };
    default:
      return result satisfies never;
  }
}
