import type { AttachmentsRequested } from '@fleet/bus';
import { type Collection, type Database, isDuplicateKey, type Redis } from '@fleet/storage';

/** Files of an alarm that have not all come; gone once they have, or nobody asks any more. */
export interface AttachmentRequest extends AttachmentsRequested {
  /** `<canonical number>:<number of the alarm>`. */
  readonly _id: string;
  readonly notificationId: number;
  /** When it is to be looked at again. */
  readonly nextAtMs: number;
  /** A replica is at it; should that die, `nextAtMs` lets it go. */
  readonly isHeld: boolean;
  /** How often the terminal has agreed to send them. */
  readonly asked: number;
  /** How often in a row it could not be asked. */
  readonly missed: number;
}

const requestsIn = (database: Database): Collection<AttachmentRequest> =>
  database.collection<AttachmentRequest>('attachment_requests');

const filesKey = (requestId: string): string => `attachment-files:${requestId}`;
const turnsKey = (imei: string): string => `attachment-turns:${imei}`;
const awayKey = 'attachments-away';
/** Longer than anybody asks for them. */
const rememberedS = 4 * 86_400;

// KEYS 1 the turns of a terminal. ARGV 1 now, 2 until when, 3 how many at a time, 4 whose. A turn that is over does not count.
const turnScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if not redis.call('ZSCORE', KEYS[1], ARGV[4]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[4])
redis.call('PEXPIREAT', KEYS[1], ARGV[2])
return 1`;

/** Whose files are asked for: MongoDB has what is to be done and when, Redis which files have come and whose turn it is. What Redis loses costs another ask. */
export class AttachmentRequests {
  readonly #database: Database;
  readonly #redis: Redis;

  constructor({ database, redis }: { readonly database: Database; readonly redis: Redis }) {
    this.#database = database;
    this.#redis = redis;
  }

  get #requests(): Collection<AttachmentRequest> {
    return requestsIn(this.#database);
  }

  find(_id: string): Promise<AttachmentRequest | null> {
    return this.#requests.findOne({ _id });
  }

  /** False where it is there already, as which it stays. */
  async add(request: AttachmentRequest): Promise<boolean> {
    try {
      await this.#requests.insertOne(request);
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return false;
    }
  }

  /** Those that are to be looked at, the longest due first. */
  due(nowMs: number, limit: number): Promise<AttachmentRequest[]> {
    return this.#requests
      .find({ nextAtMs: { $lte: nowMs } })
      .sort({ nextAtMs: 1 })
      .limit(limit)
      .toArray();
  }

  /** Takes one for this replica; false where another has. */
  async hold({ _id, nextAtMs }: AttachmentRequest, untilMs: number): Promise<boolean> {
    const held = await this.#requests.updateOne({ _id, nextAtMs }, { $set: { nextAtMs: untilMs, isHeld: true } });
    return held.modifiedCount === 1;
  }

  async release(
    { _id }: AttachmentRequest,
    change: Partial<Pick<AttachmentRequest, 'asked' | 'missed'>> & Pick<AttachmentRequest, 'nextAtMs'>,
  ): Promise<void> {
    await this.#requests.updateOne({ _id }, { $set: { ...change, isHeld: false } });
  }

  /** Its turn ends, and the terminal's next waiting ones are due. False where somebody else has removed it. */
  async remove({ _id, imei }: Pick<AttachmentRequest, '_id' | 'imei'>): Promise<boolean> {
    const { deletedCount } = await this.#requests.deleteOne({ _id });
    await this.#redis.zRem(turnsKey(imei), _id);
    await this.makeDue(imei, { asked: 0, missed: 0 });
    return deletedCount === 1;
  }

  /** Those of a terminal that nobody is at. */
  async makeDue(imei: string, which: object): Promise<void> {
    const filter = { ...ofTerminal(imei), ...which, isHeld: false } as object;
    await this.#requests.updateMany(filter, { $set: { nextAtMs: Date.now() } });
  }

  /** Notes that a file has come, and answers how many have. */
  async arrived(requestId: string, fileId: string): Promise<number> {
    const key = filesKey(requestId);
    await this.#redis.sAdd(key, fileId);
    await this.#redis.expire(key, rememberedS);
    return this.arrivedFiles(requestId);
  }

  arrivedFiles(requestId: string): Promise<number> {
    return this.#redis.sCard(filesKey(requestId));
  }

  /** Whether it is the turn of one of a terminal's alarms: only so many at a time. */
  async takeTurn({ _id, imei }: AttachmentRequest, untilMs: number, parallel: number): Promise<boolean> {
    const values = [String(Date.now()), String(untilMs), String(parallel), _id];
    return (await this.#redis.eval(turnScript, { keys: [turnsKey(imei)], arguments: values })) === 1;
  }

  async endTurn({ _id, imei }: AttachmentRequest): Promise<void> {
    await this.#redis.zRem(turnsKey(imei), _id);
  }

  /** Remembers that a terminal is away, so that the others cost nothing when they come back. */
  async noteAway(imei: string): Promise<void> {
    await this.#redis.sAdd(awayKey, imei);
  }

  /** A terminal is there: true where something waits for it since it was away. */
  async noteBack(imei: string): Promise<boolean> {
    if ((await this.#redis.sRem(awayKey, imei)) === 0) return false;
    await this.makeDue(imei, { missed: { $gt: 0 } });
    return true;
  }
}

/** The `_id`s that begin with a terminal's number. */
const ofTerminal = (imei: string) => ({ _id: { $gte: `${imei}:`, $lt: `${imei};` } });

/** A vehicle is deleted: nobody asks any more for files of its alarms, whichever terminal raised them and wherever that is by now. */
export async function forgetAttachments(
  { database }: { readonly database: Database },
  { _id: vehicleId, accountId }: { readonly _id: number; readonly accountId: number },
): Promise<void> {
  await requestsIn(database).deleteMany({ accountId, vehicleId });
}
