import { randomBytes } from 'node:crypto';
import { commandQueued, commandSent, listenFor } from '@fleet/bus';
import { readDevices } from '@fleet/storage';
import type { Config } from '../../config.ts';
import type { Deps } from '../../deps.ts';
import { mayStillSend } from '../partners/command-level.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { type Ending, isRepeatable } from './rules.ts';
import type { Command, Flight } from './schema.ts';
import { type Attempt, send } from './send.ts';
import { type CommandChange, CommandQueue, type Waiting } from './store.ts';
import { tellOfCommand, tellOfFailures } from './tell.ts';

type WorkerParts = Pick<
  Deps,
  'asker' | 'bus' | 'database' | 'log' | 'notifications' | 'partnerChannels' | 'records' | 'redis'
>;

/** How often, for how long, and how much. */
export interface WorkerTimes {
  readonly pollMs: number;
  /** What a terminal may take to answer. */
  readonly replyMs: number;
  /** A replica that has not renewed its hold of a queue for so long is dead. */
  readonly leaseMs: number;
  /** Commands that are looked at in one go. */
  readonly lookAtOnce: number;
  /** Queues that one replica looks after at the same time. */
  readonly queuesAtOnce: number;
}

/** The times that the settings say. */
export const workerTimes = (config: Pick<Config, 'COMMAND_POLL_MS' | 'COMMAND_REPLY_TIMEOUT_MS'>): WorkerTimes => ({
  pollMs: config.COMMAND_POLL_MS,
  replyMs: config.COMMAND_REPLY_TIMEOUT_MS,
  leaseMs: 15_000,
  lookAtOnce: 10_000,
  queuesAtOnce: 500,
});

/** Gateways remember what became of a command for 150 s: a little less. */
const rememberedMs = 120_000;
const unansweredRetryMs = 30_000;
const unknownRetryMs = 1_000;
const wakeRetryMs = 60_000;
/** Nobody says when a device of a partner is there again, and its server is not to be asked all the time. */
const partnerRetryMs = 60_000;
/** Turns of more queues are not remembered: they begin anew. */
const maxTurns = 100_000;

interface SentFrame {
  readonly messageId: number;
  readonly serialNo: number;
}

/**
 * Works the queues off: one command at a time for each terminal, while it is connected. Any number of replicas do so; a lease says which of them has a
 * terminal. What was under way when a replica died is taken up by the next under its name, so that the terminal gets it once.
 */
export class CommandWorker {
  readonly #parts: WorkerParts;
  readonly #times: WorkerTimes;
  readonly #queue: CommandQueue;
  readonly #owner = randomBytes(8).toString('hex');
  readonly #queues = new Map<string, Promise<void>>();
  /** The number of the last turn that a queue had here, of those that wait. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  /** Until when queues are left alone whose device can not be reached. */
  readonly #rests = new Map<string, number>();
  /** True while more queues wait than are looked after at the same time. */
  #isCrowded = false;
  /** What it is to be once all that wait have been looked at. */
  #wasCrowded = false;
  /** Attempts of this process, by their name. */
  readonly #flights = new Map<string, { readonly id: number; sent?: SentFrame }>();
  readonly #listeners: readonly { stop(): void }[];
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  /** The last command that was looked at; 0 before the oldest. */
  #lookedUpTo = 0;
  #isStopped = false;

  constructor(parts: WorkerParts, times: WorkerTimes) {
    this.#parts = parts;
    this.#times = times;
    this.#queue = new CommandQueue(parts.database);
    const onError = (error: unknown): void => parts.log.warn({ err: error }, 'a message about commands is not valid');
    this.#listeners = [
      listenFor(parts.bus, commandQueued, onError, ({ imei }) => this.#attendTo(imei, false)),
      listenFor(parts.bus, commandSent, onError, (sent) => this.#noteSent(sent)),
    ];
    this.#looking = this.#lookAgain();
  }

  /** Leaves what is under way to the next replica, or to the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const listener of this.#listeners) listener.stop();
    await this.#looking;
    await Promise.allSettled([...this.#queues.keys()].map((imei) => this.#queue.release(imei, this.#owner)));
  }

  async #lookAgain(): Promise<void> {
    try {
      await this.#look();
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'the queue of commands could not be read');
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#looking = this.#lookAgain();
    }, this.#times.pollMs);
  }

  async #look(): Promise<void> {
    const now = new Date();
    await this.#queue.expire(now);
    // What can not be told of now is at the next look; the queue does not wait for it.
    await tellOfFailures(this.#parts).catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'failures of commands could not be told');
    });
    const { lookAtOnce } = this.#times;
    const waiting = await this.#queue.waiting(lookAtOnce, this.#lookedUpTo);
    const isFirst = this.#lookedUpTo === 0;
    const isLast = waiting.length < lookAtOnce;
    // What waits for terminals that are away for weeks does not hide what came later.
    this.#lookedUpTo = isLast ? 0 : (waiting.at(-1)?._id ?? 0);
    const due = waiting.filter(({ flight, notBefore }) => flight !== null || notBefore === null || notBefore <= now);
    this.#forget(isFirst && isLast ? new Set(waiting.map(({ imei }) => imei)) : null);
    const imeis = [...new Set(due.map(({ imei }) => imei))].filter((imei) => !this.#isResting(imei));
    if (imeis.length > 0) await this.#attendToAll(imeis, due);
    if (!isLast) return;
    this.#isCrowded = this.#wasCrowded;
    this.#wasCrowded = false;
  }

  async #attendToAll(imeis: readonly string[], due: readonly Waiting[]): Promise<void> {
    const sessions = await readDevices(this.#parts.redis, imeis);
    const others = await this.#parts.partnerChannels.reachable(imeis.filter((imei) => !sessions.has(imei)));
    const connected = new Set([...sessions.keys(), ...others]);
    // A wake-up is for those that are not connected too, and what is under way has to come to its end.
    const always = new Set(
      due.filter(({ type, flight }) => type === 'wakeup' || flight !== null).map(({ imei }) => imei),
    );
    for (const imei of this.#inTurn(imeis))
      if (connected.has(imei) || always.has(imei)) this.#attendTo(imei, sessions.has(imei));
  }

  /** Forgets queues that nothing waits in, where all that wait are known, and rests that are over. */
  #forget(allWaiting: ReadonlySet<string> | null): void {
    if (allWaiting !== null) for (const imei of this.#turns.keys()) if (!allWaiting.has(imei)) this.#turns.delete(imei);
    for (const imei of this.#rests.keys()) if (!this.#isResting(imei)) this.#rests.delete(imei);
  }

  /** Those that have waited longest for their turn first: many terminals that are silent do not hide those that answer. */
  #inTurn(imeis: readonly string[]): string[] {
    const turnOf = (imei: string): number => this.#turns.get(imei) ?? 0;
    return imeis.toSorted((one, other) => turnOf(one) - turnOf(other));
  }

  #isResting(imei: string): boolean {
    return (this.#rests.get(imei) ?? 0) > performance.now();
  }

  /** Works one queue off in the background, unless that is being done. */
  #attendTo(imei: string, isConnected: boolean): void {
    if (this.#isStopped || this.#queues.has(imei) || this.#isResting(imei)) return;
    if (this.#queues.size >= this.#times.queuesAtOnce) {
      this.#isCrowded = true;
      this.#wasCrowded = true;
      return;
    }
    if (this.#turns.size > maxTurns) this.#turns.clear();
    this.#turn += 1;
    this.#turns.set(imei, this.#turn);
    const work = this.#workOff(imei, isConnected)
      .catch((error: unknown) =>
        this.#parts.log.warn({ err: error, imei }, 'a queue of commands could not be worked off'),
      )
      .finally(() => this.#queues.delete(imei));
    this.#queues.set(imei, work);
  }

  async #workOff(imei: string, wasConnected: boolean): Promise<void> {
    const lease = { isHeld: await this.#hold(imei) };
    if (!lease.isHeld) return;
    const renewal = setInterval(() => {
      this.#hold(imei).then(
        (held) => {
          lease.isHeld = held;
        },
        (error: unknown) => this.#parts.log.warn({ err: error }, 'a lease could not be renewed'),
      );
    }, this.#times.leaseMs / 3);
    try {
      let isConnected = wasConnected;
      // Another replica has a queue that is not held any more; where others wait, they have a turn between two commands.
      while (!this.#isStopped && (await this.#workOne(imei, isConnected)) && lease.isHeld && !this.#isCrowded)
        isConnected = (await readDevices(this.#parts.redis, [imei])).has(imei);
    } finally {
      clearInterval(renewal);
      // A stop has released it already, or is about to.
      if (!this.#isStopped) await this.#queue.release(imei, this.#owner);
    }
  }

  #hold(imei: string): Promise<boolean> {
    return this.#queue.take(imei, this.#owner, new Date(Date.now() + this.#times.leaseMs));
  }

  /** Makes one attempt; false when there is nothing to do for now. */
  async #workOne(imei: string, wasConnected: boolean): Promise<boolean> {
    const left = await this.#queue.inFlight(imei);
    if (left?.flight != null) return this.#takeUp(left, left.flight);
    // What is published without a connection would only seem to be under way.
    if (!this.#parts.bus.isUp()) return false;
    const isConnected = wasConnected || (await readDevices(this.#parts.redis, [imei])).has(imei);
    const isReachable = isConnected || (await this.#parts.partnerChannels.reachable([imei])).has(imei);
    const command = await this.#queue.next(imei, new Date(), isReachable ? undefined : ['wakeup']);
    if (command === null) return false;
    if ((await this.#isOfFormer(command)) || !(await mayStillSend(this.#parts.records, command))) {
      if (await this.#queue.cancel(command, command._id)) this.#tell(command._id);
      return true;
    }
    const flight: Flight = { name: randomBytes(16).toString('hex'), startedAt: new Date() };
    if (!(await this.#queue.begin(command._id, flight))) return true;
    const attempt = { name: flight.name, isRepeated: false, timeoutMs: this.#times.replyMs };
    return this.#attempt(command, attempt, isReachable && !isConnected);
  }

  /** True where the terminal has left the vehicle that the command is for: it may be in a vehicle of another account now. */
  async #isOfFormer({ imei, vehicleId }: Command): Promise<boolean> {
    return (await vehicleByImei(this.#parts.records, imei))?._id !== vehicleId;
  }

  /** What an earlier attempt has left: asked for again under its name while gateways know that, else given up. */
  async #takeUp(command: Command, { name, startedAt }: Flight): Promise<boolean> {
    const forMs = Date.now() - startedAt.getTime();
    if (command.notBefore !== null && command.notBefore.getTime() > Date.now()) return false;
    if (await this.#isOfFormer(command)) {
      // What its socket took can not be taken back.
      if (command.status === 'sent') return this.#settle(command, name, { kind: 'unanswered' });
      const canceled = { status: 'canceled', flight: null, notBefore: null, completedAt: new Date() } as const;
      if (await this.#queue.duringFlight(command._id, name, canceled)) this.#tell(command._id);
      return true;
    }
    if (forMs > rememberedMs) return this.#settle(command, name, { kind: 'unanswered' });
    const timeoutMs = Math.max(Math.min(5_000, this.#times.replyMs), this.#times.replyMs - forMs);
    return this.#attempt(command, { name, isRepeated: true, timeoutMs });
  }

  async #attempt(command: Command, attempt: Attempt, isOfPartner = false): Promise<boolean> {
    this.#flights.set(attempt.name, { id: command._id });
    try {
      const ending = await send(this.#parts, command, attempt);
      // The bus is being closed: how it ended is for whoever takes it up.
      if (this.#isStopped) return false;
      const isLater = isOfPartner && ending.kind === 'notSent';
      return await this.#settle(command, attempt.name, isLater ? { ...ending, retryMs: partnerRetryMs } : ending);
    } finally {
      this.#flights.delete(attempt.name);
    }
  }

  /** Notes how an attempt ended; false where the queue has to wait. */
  async #settle(command: Command, name: string, ending: Ending): Promise<boolean> {
    const change = changeOf(command, ending, this.#flights.get(name)?.sent);
    const isDone = await this.#queue.duringFlight(command._id, name, change);
    if (isDone && change.status !== undefined) this.#tell(command._id);
    const { commandId, imei, type } = command;
    if (waitsForDevice(command, ending)) this.#rests.set(imei, performance.now() + ending.retryMs);
    this.#parts.log.info({ commandId, imei, type, ending: ending.kind, status: change.status }, 'a command was tried');
    return ending.kind !== 'notSent' && ending.kind !== 'unknown';
  }

  /** The socket has taken the bytes. */
  #noteSent({ commandId: name, messageId, serialNo }: { commandId: string } & SentFrame): void {
    const flight = this.#flights.get(name);
    if (flight === undefined) return;
    flight.sent = { messageId, serialNo };
    const change = { status: 'sent' as const, sentAt: new Date(), messageId: shownId(messageId), serial: serialNo };
    this.#queue
      .duringFlight(flight.id, name, change, 'queued')
      .then((isNoted) => {
        if (isNoted) this.#tell(flight.id);
      })
      .catch((error: unknown) => {
        this.#parts.log.warn({ err: error }, 'that a command was sent could not be noted');
      });
  }

  /** In the background: what can not be told of now is, where it counts, at the next look. */
  #tell(id: number): void {
    tellOfCommand(this.#parts, id).catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'a change of a command could not be told');
    });
  }
}

const shownId = (id: number): string => `0x${id.toString(16).padStart(4, '0')}`;

const sentPart = (command: Command, sent: SentFrame | undefined, now: Date): CommandChange => ({
  attempts: command.attempts + 1,
  sentAt: command.sentAt ?? now,
  ...(sent === undefined ? {} : { messageId: shownId(sent.messageId), serial: sent.serialNo }),
});

/** A wake-up of a terminal that is away may cost a message. */
const retryMsOf = ({ type }: Command, { retryMs }: { retryMs: number }): number =>
  type === 'wakeup' ? Math.max(retryMs, wakeRetryMs) : retryMs;

/** A wake-up is for devices that can not be reached: it has a time of its own, and holds up nobody. */
const waitsForDevice = (command: Command, ending: Ending): ending is Extract<Ending, { kind: 'notSent' }> =>
  ending.kind === 'notSent' && ending.isOfDevice === true && command.type !== 'wakeup';

/** What the end of an attempt makes of a command. */
export function changeOf(command: Command, ending: Ending, sent?: SentFrame, now = new Date()): CommandChange {
  const done = { flight: null, notBefore: null, completedAt: now };
  switch (ending.kind) {
    case 'answered': {
      const wire = { messageId: ending.messageId, ...sentPart(command, sent, now) };
      const serial = ending.serial ?? sent?.serialNo ?? null;
      const answer = ending.answer === null ? null : JSON.stringify(ending.answer);
      const told = { ...done, ...wire, serial, result: ending.result, answer };
      return ending.result === 'success'
        ? { ...told, status: 'acknowledged' }
        : { ...told, status: 'failed', error: 'refused' };
    }
    case 'notSent':
      // What its socket took is not sent again, whatever a gateway that has lost its records says.
      if (command.status === 'sent' || sent !== undefined) return changeOf(command, { kind: 'unanswered' }, sent, now);
      return {
        flight: null,
        status: 'queued',
        // Its queue waits, and then it is the first as before.
        notBefore: waitsForDevice(command, ending) ? null : new Date(now.getTime() + retryMsOf(command, ending)),
      };
    case 'unknown':
      return { notBefore: new Date(now.getTime() + unknownRetryMs) };
    case 'unanswered': {
      const wire = sentPart(command, sent, now);
      const isLast = command.attempts + 1 >= command.maxAttempts;
      if (!isRepeatable(command.type) || isLast) return { ...done, ...wire, status: 'failed', error: 'unanswered' };
      return { ...wire, flight: null, status: 'queued', notBefore: new Date(now.getTime() + unansweredRetryMs) };
    }
    case 'failed':
      return { ...done, status: 'failed', error: ending.error, errorMessage: ending.message };
    default:
      return ending satisfies never;
  }
}
