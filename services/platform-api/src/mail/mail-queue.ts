import { randomBytes, randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Encryption, hourMs, type Logger } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import pLimit from 'p-limit';
import { MessageRefusedError, type MessageSender } from '../providers/message-sender.ts';
import { type MailFailureReason, toFailureReason } from './mail-failures.ts';
import { type MailPurpose, MailStore, type StoredMail } from './mail-store.ts';

/** A mail to a user. */
export interface Mail {
  readonly accountId: number;
  readonly userId: number;
  readonly purpose: MailPurpose;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
  /** Time within which attempts are made. */
  readonly lifetimeMs: number;
}

/** Status of a mail: `queued` is retried, `failed` never is. */
export type MailStatus = 'sent' | 'queued' | 'failed' | 'not_configured';

/** Intervals, timeouts and limits of the queue. */
export interface MailQueueTimings {
  readonly pollIntervalMs: number;
  /** How long `send` waits for the first attempt. */
  readonly sendTimeoutMs: number;
  /** Delay before the second attempt; doubled with each. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  readonly batchSize: number;
  readonly concurrency: number;
}

const defaultTimings: MailQueueTimings = {
  pollIntervalMs: 5_000,
  sendTimeoutMs: 5_000,
  retryMs: 30_000,
  maxRetryMs: hourMs,
  batchSize: 50,
  concurrency: 4,
};
const stopTimeoutMs = 5_000;

interface MailQueueDeps {
  readonly database: Database;
  readonly encryption: Encryption;
  readonly log: Logger;
  readonly messages: MessageSender;
}

type MailContent = Pick<Mail, 'to' | 'subject' | 'text'>;

/** Purpose of the encrypted content of a mail. */
export const mailPurpose = (id: string): string => `mail ${id}`;

/**
 * Sends mails to users from a queue in the database, so that an outage of the mail server or of this process loses
 * none. A mail is retried only if the server is known not to have accepted it. A connection lost in between ends the
 * mail as `outcome_unknown`.
 */
export class MailQueue {
  readonly #deps: MailQueueDeps;
  readonly #timings: MailQueueTimings;
  readonly #store: MailStore;
  readonly #running = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(deps: MailQueueDeps, timings: Partial<MailQueueTimings> = {}) {
    this.#deps = deps;
    this.#timings = { ...defaultTimings, ...timings };
    this.#store = new MailStore(deps.database);
  }

  /** Queues a mail and makes the first attempt, for which it waits a few seconds. */
  async send(mail: Mail): Promise<MailStatus> {
    const { messages } = this.#deps;
    const { to, subject, text } = mail;
    if (messages.delivers?.('mail') === false) {
      await messages.send({ kind: 'mail', to, subject, text });
      return 'not_configured';
    }
    const stored = this.#createMail(mail);
    await this.#store.insert(stored);
    const timeout = new AbortController();
    const first = this.#attempt(stored, { to, subject, text });
    const timedOut = delay(this.#timings.sendTimeoutMs, 'queued' as const, { signal: timeout.signal }).catch(
      () => first,
    );
    const status = await Promise.race([first, timedOut]);
    timeout.abort();
    return status;
  }

  /** Sends a mail immediately, without retries. Returns the reason of a failure, or null. */
  async sendOnce(content: MailContent): Promise<MailFailureReason | null> {
    try {
      await this.#deps.messages.send({ kind: 'mail', id: newId(), ...content });
      return null;
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'could not send a mail');
      return toFailureReason(error);
    }
  }

  /** Removes queued mails to a user, because their content is no longer true. */
  cancel(userId: number): Promise<void> {
    return this.#store.removeQueued(userId);
  }

  /** Starts sending queued mails, of this process and of others. */
  start(): void {
    this.#polling = this.#poll();
  }

  /** Stops sending. Queued mails are left to another replica or the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    const ended = new AbortController();
    const work = Promise.allSettled([this.#polling, ...this.#running]).finally(() => ended.abort());
    // The record of an attempt that takes longer lets another replica retry it.
    await Promise.race([work, delay(stopTimeoutMs, undefined, { signal: ended.signal }).catch(() => undefined)]);
  }

  async #poll(): Promise<void> {
    try {
      await this.#sendDue();
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'could not read the mail queue');
    }
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => {
      this.#polling = this.#poll();
    }, this.#timings.pollIntervalMs);
  }

  async #sendDue(): Promise<void> {
    await this.#store.recover();
    const due = await this.#store.listDue(this.#timings.batchSize, new Date());
    const limit = pLimit(this.#timings.concurrency);
    await Promise.all(due.map((mail) => limit(() => this.#attemptStored(mail))));
  }

  async #attemptStored(mail: StoredMail): Promise<void> {
    if (this.#isStopped || mail.sealedContent === null) return;
    const content = JSON.parse(this.#deps.encryption.open(mail.sealedContent, mailPurpose(mail._id))) as MailContent;
    await this.#attempt(mail, content);
  }

  #createMail({ accountId, userId, purpose, to, subject, text, lifetimeMs }: Mail): StoredMail {
    const now = new Date();
    const id = newId();
    return {
      _id: id,
      accountId,
      userId,
      purpose,
      sealedContent: this.#deps.encryption.seal(JSON.stringify({ to, subject, text }), mailPurpose(id)),
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

  #attempt(mail: StoredMail, content: MailContent): Promise<MailStatus> {
    const running = this.#attemptOnce(mail, content)
      .catch((error: unknown): MailStatus => {
        // The record contains the progress of the attempt.
        this.#deps.log.warn({ err: error, mailId: mail._id }, 'could not record an attempt to send a mail');
        return 'queued';
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  async #attemptOnce(mail: StoredMail, content: MailContent): Promise<MailStatus> {
    const { _id: id, attempts } = mail;
    const attempt = newId();
    if (!(await this.#store.claim(id, attempt))) return 'queued';
    const onHandOver = async (): Promise<void> => {
      if (!(await this.#store.markHandedOver(id, attempt))) throw new Error('another attempt replaced this one');
    };
    try {
      await this.#deps.messages.send({ kind: 'mail', id, ...content }, onHandOver);
    } catch (error) {
      return this.#onFailure(mail, attempt, error);
    }
    await this.#store.finish(id, attempt, 'sent', null);
    this.#deps.log.info({ mailId: id, purpose: mail.purpose, attempts: attempts + 1 }, 'sent a mail');
    return 'sent';
  }

  async #onFailure({ _id: id, purpose, attempts }: StoredMail, attempt: string, error: unknown): Promise<MailStatus> {
    const reason = toFailureReason(error);
    const isFinal = error instanceof MessageRefusedError;
    this.#deps.log.warn(
      { err: error, mailId: id, purpose, attempts: attempts + 1, reason, isFinal },
      'could not send a mail',
    );
    if (isFinal) await this.#store.finish(id, attempt, 'failed', reason);
    else await this.#store.defer(id, attempt, new Date(Date.now() + this.#retryMs(attempts)), reason);
    return isFinal ? 'failed' : 'queued';
  }

  /**
   * Returns the delay, doubled with each attempt, plus up to a fifth of jitter, so that mails of one outage are spread.
   */
  #retryMs(attempts: number): number {
    const { retryMs, maxRetryMs } = this.#timings;
    const waitMs = Math.min(maxRetryMs, retryMs * 2 ** Math.min(attempts, 20));
    return waitMs + randomInt(Math.max(1, Math.ceil(waitMs / 5)));
  }
}

const newId = (): string => randomBytes(16).toString('hex');
