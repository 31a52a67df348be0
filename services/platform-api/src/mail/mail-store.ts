import { dayMs, minuteMs } from '@fleet/service-kit';
import type { Collection, Database } from '@fleet/storage';
import type { MailFailureReason } from './mail-failures.ts';

/** Purpose of a mail. */
export type MailPurpose = 'invitation' | 'password_reset';

/** A mail of the queue. */
export interface StoredMail {
  /** Also the `Message-ID` of every attempt. */
  readonly _id: string;
  readonly accountId: number;
  readonly userId: number;
  readonly purpose: MailPurpose;
  /** Address, subject and text, encrypted because the text contains a token. Null once the mail has ended. */
  readonly sealedContent: string | null;
  readonly status: 'queued' | 'sending' | 'sent' | 'failed';
  readonly attempts: number;
  /** Earliest time of the next attempt. */
  readonly nextAt: Date;
  /** Time after which the mail is not sent, because its content is no longer true. */
  readonly expiresAt: Date;
  /** Id of the running attempt, and the time until which it counts as running. */
  readonly attempt: string | null;
  readonly attemptUntil: Date | null;
  /** Time since which the server may have the mail. */
  readonly handedOverAt: Date | null;
  readonly reason: MailFailureReason | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

const attemptTimeoutMs = 5 * minuteMs;
const retentionMs = 7 * dayMs;

const mailCollection = (database: Database): Collection<StoredMail> => database.collection<StoredMail>('mails');

/** Stores the queue of mails, which all replicas share, in the database. */
export class MailStore {
  readonly #mails: Collection<StoredMail>;

  constructor(database: Database) {
    this.#mails = mailCollection(database);
  }

  async insert(mail: StoredMail): Promise<void> {
    await this.#mails.insertOne(mail);
  }

  /** Returns due mails, oldest first. */
  async listDue(limit: number, now: Date): Promise<StoredMail[]> {
    const where = { status: 'queued' as const, nextAt: { $lte: now }, expiresAt: { $gt: now } };
    return await this.#mails.find(where).sort({ nextAt: 1 }).limit(limit).toArray();
  }

  /** Starts an attempt. Returns false if another replica has started one, or the mail has ended. */
  async claim(id: string, attempt: string, now = new Date()): Promise<boolean> {
    const running = {
      attempt,
      attemptUntil: new Date(now.getTime() + attemptTimeoutMs),
      handedOverAt: null,
      updatedAt: now,
    };
    return this.#update({ _id: id, status: 'queued' }, { ...running, status: 'sending' }, { attempts: 1 });
  }

  /** Records that the server is about to get the mail. Returns false if the attempt no longer counts. */
  markHandedOver(id: string, attempt: string, now = new Date()): Promise<boolean> {
    const where = { _id: id, status: 'sending' as const, attempt, attemptUntil: { $gt: now } };
    return this.#update(where, { handedOverAt: now, updatedAt: now });
  }

  /** Ends a mail that was sent or never will be. */
  finish(id: string, attempt: string, status: 'sent' | 'failed', reason: MailFailureReason | null): Promise<boolean> {
    return this.#update({ _id: id, attempt }, { ...finishedFields, status, reason, updatedAt: new Date() });
  }

  /** Queues a mail again that the server did not accept. */
  defer(id: string, attempt: string, nextAt: Date, reason: MailFailureReason): Promise<boolean> {
    const waiting = { status: 'queued' as const, attempt: null, attemptUntil: null, nextAt, reason };
    return this.#update({ _id: id, attempt, status: 'sending' }, { ...waiting, updatedAt: new Date() });
  }

  /**
   * Ends expired mails, and mails that a crashed replica had handed over. Queues mails again that were not handed over.
   */
  async recover(now = new Date()): Promise<void> {
    const stale = { status: 'sending' as const, attemptUntil: { $lte: now } };
    const unknown = {
      ...finishedFields,
      status: 'failed' as const,
      reason: 'outcome_unknown' as const,
      updatedAt: now,
    };
    await this.#mails.updateMany({ ...stale, handedOverAt: { $ne: null } }, { $set: unknown });
    const waiting = { status: 'queued' as const, attempt: null, attemptUntil: null, updatedAt: now };
    await this.#mails.updateMany({ ...stale, handedOverAt: null }, { $set: waiting });
    const expired = { ...finishedFields, status: 'failed' as const, reason: 'expired' as const, updatedAt: now };
    await this.#mails.updateMany({ status: 'queued', expiresAt: { $lte: now } }, { $set: expired });
  }

  /** Removes mails to a user that have not been handed over. */
  async removeQueued(userId: number): Promise<void> {
    await this.#mails.deleteMany({ userId, status: 'queued' });
  }

  find(id: string): Promise<StoredMail | null> {
    return this.#mails.findOne({ _id: id });
  }

  async #update(where: object, set: Partial<StoredMail>, add: Partial<Record<'attempts', number>> = {}) {
    const update = Object.keys(add).length === 0 ? { $set: set } : { $set: set, $inc: add };
    return (await this.#mails.updateOne(where, update)).matchedCount === 1;
  }
}

const finishedFields = { sealedContent: null, attempt: null, attemptUntil: null };

/** Removes mails that ended more than a week ago. */
export async function removeOldMails({ database }: { readonly database: Database }, now = Date.now()): Promise<void> {
  const before = new Date(now - retentionMs);
  await mailCollection(database).deleteMany({ status: { $in: ['sent', 'failed'] }, updatedAt: { $lt: before } });
}
