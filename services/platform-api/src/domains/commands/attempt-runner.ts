import type { Deps } from '../../platform/deps.ts';
import { applyResult, mustWaitForDevice, type SentFrame } from './apply-result.ts';
import { formatMessageId } from './command-result.ts';
import { publishUpdate } from './events.ts';
import type { AttemptResult } from './rules.ts';
import type { Command } from './schema.ts';
import { type AttemptOptions, sendCommand } from './send.ts';
import type { CommandQueue } from './store.ts';

/** Dependencies of sending commands and recording their results. */
export type AttemptDeps = Pick<
  Deps,
  'commandClient' | 'bus' | 'config' | 'database' | 'log' | 'notifications' | 'partnerChannels' | 'records' | 'redis'
>;

/** What an attempt runner needs of its worker. */
interface AttemptRunnerOptions {
  readonly stopped: AbortSignal;
  /** Called when a device is unreachable or busy, with the time for which its queue must wait. */
  readonly onDeviceUnavailable: (imei: string, delayMs: number) => void;
}

/**
 * No event reports that a partner's device has reconnected, and the partner's server must not be polled all the time.
 */
const partnerDelayMs = 60_000;

/** Sends commands, one attempt at a time per terminal, and records the results. */
export class AttemptRunner {
  readonly #deps: AttemptDeps;
  readonly #queue: CommandQueue;
  readonly #options: AttemptRunnerOptions;
  /** Attempts of this process by name. */
  readonly #attempts = new Map<string, { readonly id: number; sent?: SentFrame }>();

  constructor(deps: AttemptDeps, queue: CommandQueue, options: AttemptRunnerOptions) {
    this.#deps = deps;
    this.#queue = queue;
    this.#options = options;
  }

  /** Makes an attempt that has begun. Returns false if the queue must wait. */
  async run(command: Command, attempt: AttemptOptions, isViaPartner = false): Promise<boolean> {
    this.#attempts.set(attempt.name, { id: command._id });
    try {
      const result = await sendCommand(this.#deps, command, attempt);
      // The bus is closing. The replica that resumes the attempt determines its result.
      if (this.#options.stopped.aborted) return false;
      const isLater = isViaPartner && result.kind === 'notSent';
      return await this.recordResult(command, attempt.name, isLater ? { ...result, retryMs: partnerDelayMs } : result);
    } finally {
      this.#attempts.delete(attempt.name);
    }
  }

  /** Stores the result of an attempt. Returns false if the queue must wait. */
  async recordResult(command: Command, attemptName: string, result: AttemptResult): Promise<boolean> {
    const change = applyResult(command, result, this.#attempts.get(attemptName)?.sent);
    const isDone = await this.#queue.updateAttempt(command._id, attemptName, change);
    if (isDone && change.status !== undefined) this.publishUpdate(command._id);
    const { commandId, imei, type } = command;
    if (mustWaitForDevice(command, result)) this.#options.onDeviceUnavailable(imei, result.retryMs);
    this.#deps.log.info({ commandId, imei, type, result: result.kind, status: change.status }, 'attempted a command');
    return result.kind !== 'notSent' && result.kind !== 'unknown';
  }

  /** Marks an attempt as sent once the socket has accepted the bytes. Ignores attempts of other replicas. */
  markSent(attemptName: string, { messageId, serialNo }: SentFrame): void {
    const attempt = this.#attempts.get(attemptName);
    if (attempt === undefined) return;
    attempt.sent = { messageId, serialNo };
    const change = {
      status: 'sent' as const,
      sentAt: new Date(),
      messageId: formatMessageId(messageId),
      serial: serialNo,
    };
    this.#queue
      .updateAttempt(attempt.id, attemptName, change, 'queued')
      .then((isSaved) => {
        if (isSaved) this.publishUpdate(attempt.id);
      })
      .catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'could not mark a command as sent');
      });
  }

  /**
   * Publishes the state of a command in the background. Failed commands that cannot be published now are retried at the
   * next poll.
   */
  publishUpdate(id: number): void {
    publishUpdate(this.#deps, id).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'could not publish a command update');
    });
  }
}
