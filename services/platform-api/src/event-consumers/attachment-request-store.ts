import type { AttachmentsRequested } from '@fleet/bus';
import { type Collection, type Database, isDuplicateKey, type Redis } from '@fleet/storage';

/** Missing files of an alarm; deleted when they have arrived, or when the request is given up. */
export interface AttachmentRequest extends AttachmentsRequested {
  /** `<canonical number>:<number of the alarm>`. */
  readonly _id: string;
  readonly notificationId: number;
  /** Time of the next attempt. */
  readonly nextAtMs: number;
  /** Claimed by a replica; the claim of a dead one ends at `nextAtMs`. */
  readonly isHeld: boolean;
  /** Number of requests that the terminal accepted. */
  readonly asked: number;
  /** Number of failed requests in a row. */
  readonly missed: number;
}

const requestCollection = (database: Database): Collection<AttachmentRequest> =>
  database.collection<AttachmentRequest>('attachment_requests');

const filesKey = (requestId: string): string => `attachment-files:${requestId}`;
const slotsKey = (imei: string): string => `attachment-turns:${imei}`;
/** Terminals whose requests are repeated when they connect. */
const reconnectKey = 'attachments-away';
/** Longer than any request is repeated. */
const filesTtlS = 4 * 86_400;

// KEYS 1 running requests of a terminal. ARGV 1 now, 2 expiry, 3 concurrency, 4 member. Expired members do not count.
const claimSlotScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
if not redis.call('ZSCORE', KEYS[1], ARGV[4]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[4])
redis.call('PEXPIREAT', KEYS[1], ARGV[2])
return 1`;

/**
 * Stores attachment requests: the schedule in MongoDB, received files and concurrency in Redis. A loss of Redis costs
 * another request.
 */
export class AttachmentRequestStore {
  readonly #database: Database;
  readonly #redis: Redis;

  constructor({ database, redis }: { readonly database: Database; readonly redis: Redis }) {
    this.#database = database;
    this.#redis = redis;
  }

  get #requests(): Collection<AttachmentRequest> {
    return requestCollection(this.#database);
  }

  find(_id: string): Promise<AttachmentRequest | null> {
    return this.#requests.findOne({ _id });
  }

  /** Returns false if it exists; it is unchanged then. */
  async add(request: AttachmentRequest): Promise<boolean> {
    try {
      await this.#requests.insertOne(request);
      return true;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      return false;
    }
  }

  /** Returns due requests, the longest due first. */
  findDue(nowMs: number, limit: number): Promise<AttachmentRequest[]> {
    return this.#requests
      .find({ nextAtMs: { $lte: nowMs } })
      .sort({ nextAtMs: 1 })
      .limit(limit)
      .toArray();
  }

  /** Claims a request for this replica; returns false if another one has it. */
  async claim({ _id, nextAtMs }: AttachmentRequest, untilMs: number): Promise<boolean> {
    const result = await this.#requests.updateOne({ _id, nextAtMs }, { $set: { nextAtMs: untilMs, isHeld: true } });
    return result.modifiedCount === 1;
  }

  async release(
    { _id }: AttachmentRequest,
    change: Partial<Pick<AttachmentRequest, 'asked' | 'missed'>> & Pick<AttachmentRequest, 'nextAtMs'>,
  ): Promise<void> {
    await this.#requests.updateOne({ _id }, { $set: { ...change, isHeld: false } });
  }

  /** Releases a request and makes the terminal's waiting ones due. Returns false if it was deleted concurrently. */
  async remove({ _id, imei }: Pick<AttachmentRequest, '_id' | 'imei'>): Promise<boolean> {
    const { deletedCount } = await this.#requests.deleteOne({ _id });
    await this.#redis.zRem(slotsKey(imei), _id);
    await this.makeDue(imei, { asked: 0, missed: 0 });
    return deletedCount === 1;
  }

  /** Makes the unclaimed requests of a terminal due. */
  async makeDue(imei: string, condition: object): Promise<void> {
    const filter = { ...terminalFilter(imei), ...condition, isHeld: false } as object;
    await this.#requests.updateMany(filter, { $set: { nextAtMs: Date.now() } });
  }

  /** Records a received file and returns the number of received ones. */
  async addReceivedFile(requestId: string, fileId: string): Promise<number> {
    const key = filesKey(requestId);
    await this.#redis.sAdd(key, fileId);
    await this.#redis.expire(key, filesTtlS);
    return this.countReceivedFiles(requestId);
  }

  countReceivedFiles(requestId: string): Promise<number> {
    return this.#redis.sCard(filesKey(requestId));
  }

  /** Returns whether an alarm of a terminal may be requested now: the number of concurrent ones is limited. */
  async claimSlot({ _id, imei }: AttachmentRequest, untilMs: number, concurrency: number): Promise<boolean> {
    const values = [String(Date.now()), String(untilMs), String(concurrency), _id];
    return (await this.#redis.eval(claimSlotScript, { keys: [slotsKey(imei)], arguments: values })) === 1;
  }

  async releaseSlot({ _id, imei }: AttachmentRequest): Promise<void> {
    await this.#redis.zRem(slotsKey(imei), _id);
  }

  /** Records that requests wait for a terminal to connect; for all others a connection costs no query. */
  async markReconnectAwaited(imei: string): Promise<void> {
    await this.#redis.sAdd(reconnectKey, imei);
  }

  /** Makes the requests due that waited for a terminal to connect; returns false if none did. */
  async markReconnected(imei: string): Promise<boolean> {
    if ((await this.#redis.sRem(reconnectKey, imei)) === 0) return false;
    await this.makeDue(imei, { missed: { $gt: 0 } });
    return true;
  }
}

/** Matches `_id`s that begin with a terminal's number. */
const terminalFilter = (imei: string) => ({ _id: { $gte: `${imei}:`, $lt: `${imei};` } });

/** Deletes the requests of a deleted vehicle's alarms, whichever terminal raised them. */
export async function deleteAttachmentRequests(
  { database }: { readonly database: Database },
  { _id: vehicleId, accountId }: { readonly _id: number; readonly accountId: number },
): Promise<void> {
  await requestCollection(database).deleteMany({ accountId, vehicleId });
}
