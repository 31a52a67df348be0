import { acquireLease, type Collection, type Database, type LeaseRecord, releaseLease } from '@fleet/storage';
import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Attempt, Command } from './schema.ts';

const collectionName = 'commands';

export const commandCollection = (records: RecordStore): AccountRepository<Command> =>
  new AccountRepository<Command>(records, collectionName);

/** What an attempt changes. */
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

/** What waits for its terminal; `flight` where an attempt is under way. */
export type WaitingCommand = Pick<Command, '_id' | 'imei' | 'type' | 'notBefore' | 'flight'>;

const waitingStatuses = ['queued', 'sent'];

/** The queue as the worker sees it, which works for all accounts. */
export class CommandQueue {
  readonly #commands: Collection<Command>;
  /** The replica that works on the queue of a terminal, by canonical number. */
  readonly #leases: Collection<LeaseRecord>;

  constructor(database: Database) {
    this.#commands = database.collection<Command>(collectionName);
    this.#leases = database.collection<LeaseRecord>('command_queue_leases');
  }

  /** Commands that are not done with and younger than one of them, oldest first. */
  async listWaiting(limit: number, afterId: number): Promise<WaitingCommand[]> {
    const found = this.#commands
      .find({ status: { $in: waitingStatuses }, _id: { $gt: afterId } } as object, {
        projection: { imei: 1, type: 1, notBefore: 1, flight: 1 },
      })
      .sort({ _id: 1 })
      .limit(limit);
    return await found.toArray();
  }

  /** The attempt that is under way for a terminal, or was when its replica died. */
  async findInFlight(imei: string): Promise<Command | null> {
    return await this.#commands.findOne({
      imei,
      status: { $in: waitingStatuses },
      flight: { $ne: null },
    } as object);
  }

  /** The next command that may go out; with `types` only one of those. */
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

  /** Begins an attempt; false when the command is not waiting any more. */
  beginAttempt(id: number, attempt: Attempt): Promise<boolean> {
    return this.#update({ _id: id, status: 'queued', flight: null }, { flight: attempt });
  }

  /** Changes a command while an attempt of this name is under way; false when it is not. */
  updateAttempt(id: number, attemptName: string, change: CommandChange, status?: Command['status']): Promise<boolean> {
    const unnotified = change.status === 'failed' ? { isUntold: true } : {};
    const where = { _id: id, 'flight.name': attemptName, ...(status === undefined ? {} : { status }) };
    return this.#update(where, { ...change, ...unnotified });
  }

  /** Cancels a command that waits; false when it does not, or is not of the expected version. */
  cancel({ accountId }: Scope, id: number, expectedVersion?: number): Promise<boolean> {
    const change = { status: 'canceled' as const, completedAt: new Date() };
    const version = expectedVersion === undefined ? {} : { version: expectedVersion };
    return this.#update({ _id: id, accountId, status: 'queued', flight: null, ...version }, change);
  }

  /** Ends what nobody could send in its time; the number of ended ones. */
  async expire(now: Date): Promise<number> {
    const where = { status: 'queued', flight: null, expiresAt: { $lte: now } } as object;
    const change = { status: 'expired', isUntold: true, completedAt: now, updatedAt: now };
    return (await this.#commands.updateMany(where, { $set: change, $inc: { version: 1 } } as object)).modifiedCount;
  }

  /** Commands whose failure nobody has been told of yet, oldest first. */
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

  /** Removes commands made before a moment that are done with; the number of removed ones. */
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
