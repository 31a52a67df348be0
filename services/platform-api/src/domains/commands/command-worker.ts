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
  'commandClient' | 'bus' | 'database' | 'log' | 'notifications' | 'partnerChannels' | 'records' | 'redis'
>;

/** Intervals, timeouts and limits of the worker. */
export interface WorkerTimings {
  readonly pollIntervalMs: number;
  /** Time that a terminal has to respond. */
  readonly replyTimeoutMs: number;
  /** Time without a renewal after which the owner of a queue counts as dead. */
  readonly leaseTtlMs: number;
  /** Number of commands that one poll reads. */
  readonly pageSize: number;
  /** Number of queues that one replica processes concurrently. */
  readonly concurrency: number;
}

/** Returns the timings from the settings. */
export const workerTimings = (config: Pick<Config, 'COMMAND_POLL_MS' | 'COMMAND_REPLY_TIMEOUT_MS'>): WorkerTimings => ({
  pollIntervalMs: config.COMMAND_POLL_MS,
  replyTimeoutMs: config.COMMAND_REPLY_TIMEOUT_MS,
  leaseTtlMs: 15_000,
  pageSize: 10_000,
  concurrency: 500,
});

/** Slightly less than the 150 s for which gateways cache the outcome of a command. */
const gatewayMemoryMs = 120_000;
const unansweredDelayMs = 30_000;
const unknownDelayMs = 1_000;
const wakeDelayMs = 60_000;
/**
 * No event reports that a partner's device has reconnected, and the partner's server must not be polled all the time.
 */
const partnerDelayMs = 60_000;
/** Limit of tracked queues. Above it, all are evicted and the round-robin order starts over. */
const maxTrackedQueues = 100_000;

interface SentFrame {
  readonly messageId: number;
  readonly serialNo: number;
}

/**
 * Processes the command queues: one command at a time per terminal, while it is connected. Any number of replicas run a
 * worker; a lease selects one per terminal. After a crash, the next replica resumes the attempt in flight under its
 * name, so that the terminal gets the command once.
 */
export class CommandWorker {
  readonly #deps: WorkerDeps;
  readonly #timings: WorkerTimings;
  readonly #queue: CommandQueue;
  readonly #owner = randomBytes(8).toString('hex');
  readonly #queues = new Map<string, Promise<void>>();
  /** The round in which this replica last served a waiting queue. */
  readonly #lastServed = new Map<string, number>();
  #roundNo = 0;
  /** Times until which the queues of unreachable devices are skipped. */
  readonly #cooldowns = new Map<string, number>();
  /** True while more queues wait than can be processed concurrently. */
  #isSaturated = false;
  /** Next value of `#isSaturated`, set once all waiting commands were read. */
  #wasSaturated = false;
  /** Attempts of this process by name. */
  readonly #attempts = new Map<string, { readonly id: number; sent?: SentFrame }>();
  readonly #subscriptions: readonly { stop(): void }[];
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  /** Id of the last command that a poll has read; 0 to start with the oldest. */
  #cursor = 0;
  #isStopped = false;

  constructor(deps: WorkerDeps, timings: WorkerTimings) {
    this.#deps = deps;
    this.#timings = timings;
    this.#queue = new CommandQueue(deps.database);
    const onError = (error: unknown): void =>
      deps.log.warn({ err: error }, 'received an invalid message about commands');
    this.#subscriptions = [
      subscribe(deps.bus, commandQueued, onError, ({ imei }) => this.#startQueue(imei, false)),
      subscribe(deps.bus, commandSent, onError, (sent) => this.#markSent(sent)),
    ];
    this.#polling = this.#schedulePoll();
  }

  /** Stops the worker. Attempts in flight are resumed by another replica or after the next start. */
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
      this.#deps.log.warn({ err: error }, 'could not read the command queue');
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#polling = this.#schedulePoll();
    }, this.#timings.pollIntervalMs);
  }

  async #poll(): Promise<void> {
    const now = new Date();
    await this.#queue.expire(now);
    // Failures that cannot be published now are retried at the next poll. The queue does not wait for them.
    await notifyFailures(this.#deps).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'could not publish the failures of commands');
    });
    const { pageSize } = this.#timings;
    const waiting = await this.#queue.listWaiting(pageSize, this.#cursor);
    const isFirst = this.#cursor === 0;
    const isLast = waiting.length < pageSize;
    // Continues after the last command of the page, so that commands for terminals that are offline for weeks do not
    // hide later ones.
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
    const viaPartners = await this.#deps.partnerChannels.filterReachable(imeis.filter((imei) => !sessions.has(imei)));
    const connected = new Set([...sessions.keys(), ...viaPartners]);
    // A wake-up also targets disconnected terminals, and an attempt in flight must be completed.
    const always = new Set(
      due.filter(({ type, flight }) => type === 'wakeup' || flight !== null).map(({ imei }) => imei),
    );
    for (const imei of this.#leastRecentlyServed(imeis))
      if (connected.has(imei) || always.has(imei)) this.#startQueue(imei, sessions.has(imei));
  }

  /** Evicts queues without waiting commands, if all waiting commands are known, and expired cooldowns. */
  #evictStale(allWaiting: ReadonlySet<string> | null): void {
    if (allWaiting !== null)
      for (const imei of this.#lastServed.keys()) if (!allWaiting.has(imei)) this.#lastServed.delete(imei);
    for (const imei of this.#cooldowns.keys()) if (!this.#isCoolingDown(imei)) this.#cooldowns.delete(imei);
  }

  /**
   * Sorts queues by the round in which they were last served, so that many silent terminals do not delay responsive
   * ones.
   */
  #leastRecentlyServed(imeis: readonly string[]): string[] {
    const lastServed = (imei: string): number => this.#lastServed.get(imei) ?? 0;
    return imeis.toSorted((one, other) => lastServed(one) - lastServed(other));
  }

  #isCoolingDown(imei: string): boolean {
    return (this.#cooldowns.get(imei) ?? 0) > performance.now();
  }

  /** Processes a queue in the background unless this is already in progress. */
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
      .catch((error: unknown) => this.#deps.log.warn({ err: error, imei }, 'could not process a command queue'))
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
        (error: unknown) => this.#deps.log.warn({ err: error }, 'could not renew a lease'),
      );
    }, this.#timings.leaseTtlMs / 3);
    try {
      let isConnected = wasConnected;
      // Without the lease, another replica owns the queue. While other queues wait, this one yields after each command.
      while (!this.#isStopped && (await this.#processNext(imei, isConnected)) && lease.isHeld && !this.#isSaturated)
        isConnected = (await readDevices(this.#deps.redis, [imei])).has(imei);
    } finally {
      clearInterval(renewal);
      // `stop` has released the lease already or is about to.
      if (!this.#isStopped) await this.#queue.releaseLease(imei, this.#owner);
    }
  }

  #renewLease(imei: string): Promise<boolean> {
    return this.#queue.acquireLease(imei, this.#owner, this.#timings.leaseTtlMs);
  }

  /** Makes one attempt. Returns false if there is nothing to do for now. */
  async #processNext(imei: string, wasConnected: boolean): Promise<boolean> {
    const inFlight = await this.#queue.findInFlight(imei);
    if (inFlight?.flight != null) return this.#resumeAttempt(inFlight, inFlight.flight);
    // A message published without a connection would only seem to be in flight.
    if (!this.#deps.bus.isUp()) return false;
    const isConnected = wasConnected || (await readDevices(this.#deps.redis, [imei])).has(imei);
    const isReachable = isConnected || (await this.#deps.partnerChannels.filterReachable([imei])).has(imei);
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

  /**
   * Returns whether the terminal has left the vehicle of the command. It may be in a vehicle of another account now.
   */
  async #isForPreviousVehicle({ imei, vehicleId }: Command): Promise<boolean> {
    return (await vehicleByImei(this.#deps.records, imei))?._id !== vehicleId;
  }

  /**
   * Resumes an earlier attempt. Sends the command again under the same name while gateways cache the outcome;
   * afterwards, the attempt counts as unanswered.
   */
  async #resumeAttempt(command: Command, { name, startedAt }: Attempt): Promise<boolean> {
    const ageMs = Date.now() - startedAt.getTime();
    if (command.notBefore !== null && command.notBefore.getTime() > Date.now()) return false;
    if (await this.#isForPreviousVehicle(command)) {
      // A command that the socket accepted cannot be canceled.
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
      // The bus is closing. The replica that resumes the attempt determines its result.
      if (this.#isStopped) return false;
      const isLater = isViaPartner && result.kind === 'notSent';
      return await this.#applyResult(command, attempt.name, isLater ? { ...result, retryMs: partnerDelayMs } : result);
    } finally {
      this.#attempts.delete(attempt.name);
    }
  }

  /** Stores the result of an attempt. Returns false if the queue must wait. */
  async #applyResult(command: Command, name: string, result: AttemptResult): Promise<boolean> {
    const change = applyResult(command, result, this.#attempts.get(name)?.sent);
    const isDone = await this.#queue.updateAttempt(command._id, name, change);
    if (isDone && change.status !== undefined) this.#publishUpdate(command._id);
    const { commandId, imei, type } = command;
    if (mustWaitForDevice(command, result)) this.#cooldowns.set(imei, performance.now() + result.retryMs);
    this.#deps.log.info({ commandId, imei, type, ending: result.kind, status: change.status }, 'attempted a command');
    return result.kind !== 'notSent' && result.kind !== 'unknown';
  }

  /** Marks an attempt as sent once the socket has accepted the bytes. */
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
        this.#deps.log.warn({ err: error }, 'could not mark a command as sent');
      });
  }

  /**
   * Publishes the state of a command in the background. Failed commands that cannot be published now are retried at the
   * next poll.
   */
  #publishUpdate(id: number): void {
    publishUpdate(this.#deps, id).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'could not publish a command update');
    });
  }
}

const formatMessageId = (id: number): string => `0x${id.toString(16).padStart(4, '0')}`;

const sentFields = (command: Command, sent: SentFrame | undefined, now: Date): CommandChange => ({
  attempts: command.attempts + 1,
  sentAt: command.sentAt ?? now,
  ...(sent === undefined ? {} : { messageId: formatMessageId(sent.messageId), serial: sent.serialNo }),
});

/**
 * Returns the delay of the next attempt. It is longer for a wake-up, since waking a disconnected terminal may cost a
 * message.
 */
const retryDelayMs = ({ type }: Command, { retryMs }: { retryMs: number }): number =>
  type === 'wakeup' ? Math.max(retryMs, wakeDelayMs) : retryMs;

/**
 * Returns whether the queue must wait for the device. A wake-up targets unreachable devices, so it has its own delay
 * and does not block the queue.
 */
const mustWaitForDevice = (
  command: Command,
  result: AttemptResult,
): result is Extract<AttemptResult, { kind: 'notSent' }> =>
  result.kind === 'notSent' && result.isOfDevice === true && command.type !== 'wakeup';

/** Returns the changes of a command after an attempt. */
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
      const response = result.response === null ? null : JSON.stringify(result.response);
      const fields = { ...doneFields, ...sentChange, serial, result: result.result, answer: response };
      return result.result === 'success'
        ? { ...fields, status: 'acknowledged' }
        : { ...fields, status: 'failed', error: 'refused' };
    }
    case 'notSent':
      // A command that the socket accepted is not sent again, even if a gateway that lost its cache reports it as not
      // sent.
      if (command.status === 'sent' || sent !== undefined)
        return applyResult(command, { kind: 'unanswered' }, sent, now);
      return {
        flight: null,
        status: 'queued',
        // The whole queue waits, and then this command is first again.
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
