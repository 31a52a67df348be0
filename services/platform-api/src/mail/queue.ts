import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Encryption, Logger } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import pLimit from 'p-limit';
import { MessageRefused, type Messages } from '../providers/messages.ts';
import { type MailFailureReason, reasonOf } from './failures.ts';
import { type MailPurpose, MailStore, type StoredMail } from './store.ts';

/** A mail to a user. */
export interface Mail {
  readonly accountId: number;
  readonly userId: number;
  readonly purpose: MailPurpose;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** For how long it is tried. */
  readonly lifetimeMs: number;
}

/** What became of a mail: `queued` is tried again, `failed` never is. */
export type MailStatus = 'sent' | 'queued' | 'failed' | 'not_configured';

/** How often, for how long, and how much. */
export interface MailTimes {
  readonly pollMs: number;
  /** How long the sender of a mail waits for the first attempt. */
  readonly firstWaitMs: number;
  /** Wait before the second attempt; doubled with each. */
  readonly retryMs: number;
  readonly longestRetryMs: number;
  readonly batchSize: number;
  readonly concurrency: number;
}

const defaultTimes: MailTimes = {
  pollMs: 5_000,
  firstWaitMs: 5_000,
  retryMs: 30_000,
  longestRetryMs: 3_600_000,
  batchSize: 50,
  concurrency: 4,
};
const stopTimeoutMs = 5_000;

interface Deps {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly log: Logger;
  readonly messages: Messages;
}

type Content = Pick<Mail, 'to' | 'subject' | 'text'>;

const purposeOfSeal = (id: string): string => `mail ${id}`;

/**
 * Sends mails to users from a queue in the database, so that neither an outage of the mail server nor of this process loses one. The server gets a mail again
 * only where it is known not to have taken it: a connection that is lost in between ends the mail as `outcome_unknown`.
 */
export class MailQueue {
  readonly #deps: Deps;
  readonly #times: MailTimes;
  readonly #store: MailStore;
  readonly #running = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(deps: Deps, times: Partial<MailTimes> = {}) {
    this.#deps = deps;
    this.#times = { ...defaultTimes, ...times };
    this.#store = new MailStore(deps.database);
  }

  /** Queues a mail and makes the first attempt, which is waited for a few seconds. */
  async send(mail: Mail): Promise<MailStatus> {
    const { messages } = this.#deps;
    const { to, subject, text } = mail;
    if (messages.delivers?.('mail') === false) {
      await messages.send({ kind: 'mail', to, subject, text });
      return 'not_configured';
    }
    const stored = this.#newMail(mail);
    await this.#store.insert(stored);
    const waited = new AbortController();
    const first = this.#attempt(stored, { to, subject, text });
    const late = delay(this.#times.firstWaitMs, 'queued' as const, { signal: waited.signal }).catch(() => first);
    const status = await Promise.race([first, late]);
    waited.abort();
    return status;
  }

  /** Sends a mail at once and once; returns why it was not sent, or null. */
  async sendOnce(content: Content): Promise<MailFailureReason | null> {
    try {
      await this.#deps.messages.send({ kind: 'mail', id: newId(), ...content });
      return null;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'a mail was not sent');
      return reasonOf(error);
    }
  }

  /** Takes back what waits for a user: what it says is no longer true. */
  cancel(userId: number): Promise<void> {
    return this.#store.removeWaiting(userId);
  }

  /** Starts to send what waits, of this process and of others. */
  start(): void {
    this.#polling = this.#poll();
  }

  /** Leaves what waits to the next replica, or to the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const ended = new AbortController();
    const work = Promise.allSettled([this.#polling, ...this.#running]).finally(() => ended.abort());
    // An attempt that takes longer is taken up again by its record.
    await Promise.race([work, delay(stopTimeoutMs, undefined, { signal: ended.signal }).catch(() => undefined)]);
  }

  async #poll(): Promise<void> {
    try {
      await this.#sendDue();
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'the queue of mails could not be read');
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll();
    }, this.#times.pollMs);
  }

  async #sendDue(): Promise<void> {
    await this.#store.recover();
    const due = await this.#store.due(this.#times.batchSize, new Date());
    const limit = pLimit(this.#times.concurrency);
    await Promise.all(due.map((mail) => limit(() => this.#attemptStored(mail))));
  }

  async #attemptStored(mail: StoredMail): Promise<void> {
    if (this.#isStopped || mail.sealedContent === null) return;
    const content = JSON.parse(this.#deps.encryption.open(mail.sealedContent, purposeOfSeal(mail._id))) as Content;
    await this.#attempt(mail, content);
  }

  #newMail({ accountId, userId, purpose, to, subject, text, lifetimeMs }: Mail): StoredMail {
    const now = new Date();
    const id = newId();
    return {
      _id: id,
      accountId,
      userId,
      purpose,
      sealedContent: this.#deps.encryption.seal(JSON.stringify({ to, subject, text }), purposeOfSeal(id)),
      status: 'queued',
      attempts: 0,
      nextAt: now,
      expiresAt: new Date(now.getTime() + lifetimeMs),
      attempt: null,
      attemptUntil: null,
      handedOverAt: null,
      reason: null,
      createdAt: now,
      updatedAt: now,
    };
  }

  #attempt(mail: StoredMail, content: Content): Promise<MailStatus> {
    const running = this.#tryOnce(mail, content)
      .catch((error: unknown): MailStatus => {
        // Its record says how far it came.
        this.#deps.log.warn({ err: error, mailId: mail._id }, 'an attempt to send a mail could not be recorded');
        return 'queued';
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async #tryOnce(mail: StoredMail, content: Content): Promise<MailStatus> {
    const { _id: id, attempts } = mail;
    const attempt = newId();
    if (!(await this.#store.claim(id, attempt))) return 'queued';
    const onHandOver = async (): Promise<void> => {
      if (!(await this.#store.handOver(id, attempt)))
        throw new Error('another attempt has taken the place of this one');
    };
    try {
      await this.#deps.messages.send({ kind: 'mail', id, ...content }, onHandOver);
    } catch (error) {
      return this.#onFailure(mail, attempt, error);
    }
    await this.#store.end(id, attempt, 'sent', null);
    this.#deps.log.info({ mailId: id, purpose: mail.purpose, attempts: attempts + 1 }, 'a mail was sent');
    return 'sent';
  }

  async #onFailure({ _id: id, purpose, attempts }: StoredMail, attempt: string, error: unknown): Promise<MailStatus> {
    const reason = reasonOf(error);
    const isFinal = error instanceof MessageRefused;
    this.#deps.log.warn(
      { err: error, mailId: id, purpose, attempts: attempts + 1, reason, isFinal },
      'a mail was not sent',
    );
    if (isFinal) await this.#store.end(id, attempt, 'failed', reason);
    else await this.#store.defer(id, attempt, new Date(Date.now() + this.#retryMs(attempts)), reason);
    return isFinal ? 'failed' : 'queued';
  }

  /** Doubled with each attempt, and up to a fifth longer, so that mails of one outage do not come back together. */
  #retryMs(attempts: number): number {
    const { retryMs, longestRetryMs } = this.#times;
    const waitMs = Math.min(longestRetryMs, retryMs * 2 ** Math.min(attempts, 20));
    return waitMs + randomInt(Math.max(1, Math.ceil(waitMs / 5)));
  }
}

const newId = (): string => randomBytes(16).toString('hex');
