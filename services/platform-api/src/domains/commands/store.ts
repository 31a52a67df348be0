import { acquireLease, type Collection, type Database, type LeaseRecord, releaseLease } from '@fleet/storage';
import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Attempt, Command } from './schema.ts';

const collectionName = 'commands';

export const commandCollection = (records: RecordStore): AccountRepository<Command> =>
  new AccountRepository<Command>(records, collectionName);

/** The fields that an attempt may change. */
export type CommandChange = Partial<
  Pick<
    Command,
    | 'status'
    | 'attempts'
    | 'messageId'
    | 'serial'
    | 'result'
    | 'error'
    | 'errorMessage'
    | 'answer'
    | 'sentAt'
    | 'completedAt'
    | 'flight'
    | 'notBefore'
    | 'isUntold'
  >
>;

/** A command that waits for its terminal; `flight` is set while an attempt is in flight. */
export type WaitingCommand = Pick<Command, '_id' | 'imei' | 'type' | 'notBefore' | 'flight'>;

const waitingStatuses = ['queued', 'sent'];

/** Represents the queue of all accounts, for the worker. */
export class CommandQueue {
  readonly #commands: Collection<Command>;
  /** The replica that works on the queue of a terminal, by canonical number. */
  readonly #leases: Collection<LeaseRecord>;

  constructor(database: Database) {
    this.#commands = database.collection<Command>(collectionName);
    this.#leases = database.collection<LeaseRecord>('command_queue_leases');
  }

  /** Returns commands after an id that are not completed, oldest first. */
  async listWaiting(limit: number, afterId: number): Promise<WaitingCommand[]> {
    const found = this.#commands
      .find({ status: { $in: waitingStatuses }, _id: { $gt: afterId } } as object, {
        projection: { imei: 1, type: 1, notBefore: 1, flight: 1 },
      })
      .sort({ _id: 1 })
      .limit(limit);
    return await found.toArray();
  }

  /** Returns the command in flight for a terminal, even if its replica has died. */
  async findInFlight(imei: string): Promise<Command | null> {
    return await this.#commands.findOne({
      imei,
      status: { $in: waitingStatuses },
      flight: { $ne: null },
    } as object);
  }

  /** Returns the next command that may be sent; with `types`, only one of those types. */
  async next(imei: string, now: Date, types?: readonly string[]): Promise<Command | null> {
    const found = await this.#commands
      .find({
        imei,
        status: 'queued',
        flight: null,
        expiresAt: { $gt: now },
        $or: [{ notBefore: null }, { notBefore: { $lte: now } }],
        ...(types === undefined ? {} : { type: { $in: types } }),
      } as object)
      .sort({ priority: -1, _id: 1 })
      .limit(1)
      .toArray();
    return found[0] ?? null;
  }

  /** Starts an attempt; returns false if the command is no longer waiting. */
  beginAttempt(id: number, attempt: Attempt): Promise<boolean> {
    return this.#update({ _id: id, status: 'queued', flight: null }, { flight: attempt });
  }

  /** Changes a command while the attempt with this name is in flight; returns false if it is not. */
  updateAttempt(id: number, attemptName: string, change: CommandChange, status?: Command['status']): Promise<boolean> {
    const unnotified = change.status === 'failed' ? { isUntold: true } : {};
    const where = { _id: id, 'flight.name': attemptName, ...(status === undefined ? {} : { status }) };
    return this.#update(where, { ...change, ...unnotified });
  }

  /** Cancels a waiting command; returns false if it is not waiting or does not have the expected version. */
  cancel({ accountId }: Scope, id: number, expectedVersion?: number): Promise<boolean> {
    const change = { status: 'canceled' as const, completedAt: new Date() };
    const version = expectedVersion === undefined ? {} : { version: expectedVersion };
    return this.#update({ _id: id, accountId, status: 'queued', flight: null, ...version }, change);
  }

  /** Expires commands that were not sent in time; returns their number. */
  async expire(now: Date): Promise<number> {
    const where = { status: 'queued', flight: null, expiresAt: { $lte: now } } as object;
    const change = { status: 'expired', isUntold: true, completedAt: now, updatedAt: now };
    return (await this.#commands.updateMany(where, { $set: change, $inc: { version: 1 } } as object)).modifiedCount;
  }

  /** Returns failed and expired commands whose notification is not raised yet, oldest first. */
  listUnnotified(limit: number): Promise<Command[]> {
    return this.#commands
      .find({ isUntold: true } as object)
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
  }

  async markNotified(id: number): Promise<void> {
    await this.#commands.updateOne({ _id: id }, { $set: { isUntold: false } });
  }

  find(id: number): Promise<Command | null> {
    return this.#commands.findOne({ _id: id });
  }

  /** Removes completed commands created before a time; returns their number. */
  async removeBefore(before: Date): Promise<number> {
    const where = { createdAt: { $lt: before }, status: { $nin: waitingStatuses } } as object;
    return (await this.#commands.deleteMany(where)).deletedCount;
  }

  /** Acquires or renews the lease of a terminal's queue; returns false if another replica holds it. */
  acquireLease(imei: string, holder: string, ttlMs: number): Promise<boolean> {
    return acquireLease(this.#leases, { name: imei, holder, ttlMs });
  }

  releaseLease(imei: string, holder: string): Promise<void> {
    return releaseLease(this.#leases, { name: imei, holder });
  }

  async #update(where: object, change: CommandChange): Promise<boolean> {
    const update = { $set: { ...change, updatedAt: new Date() }, $inc: { version: 1 } } as object;
    return (await this.#commands.updateOne(where, update)).matchedCount === 1;
  }
}
