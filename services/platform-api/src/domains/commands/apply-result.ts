import { formatMessageId } from './command-result.ts';
import { type AttemptResult, isRepeatable } from './rules.ts';
import type { Command } from './schema.ts';
import type { CommandChange } from './store.ts';

/** Frame of a command that the terminal's socket has accepted. */
export interface SentFrame {
  readonly messageId: number;
  readonly serialNo: number;
}

const unansweredDelayMs = 30_000;
const unknownDelayMs = 1_000;
const wakeDelayMs = 60_000;

/** Returns the changes of a command after an attempt. */
export function applyResult(
  command: Command,
  result: AttemptResult,
  sent?: SentFrame,
  now = new Date(),
): CommandChange {
  switch (result.kind) {
    case 'answered':
      return toResponded(command, result, sent, now);
    case 'notSent':
      // A command that the socket accepted is not sent again, even if a gateway that lost its cache reports it as not
      // sent.
      if (command.status === 'sent' || sent !== undefined) return toUnanswered(command, sent, now);
      return {
        flight: null,
        status: 'queued',
        // The whole queue waits, and then this command is first again.
        notBefore: mustWaitForDevice(command, result) ? null : after(now, retryDelayMs(command, result)),
      };
    case 'unknown':
      return { notBefore: after(now, unknownDelayMs) };
    case 'unanswered':
      return toUnanswered(command, sent, now);
    case 'failed':
      return { ...doneFields(now), status: 'failed', error: result.error, errorMessage: result.message };
    default:
      return result satisfies never;
  }
}

/**
 * Returns whether the queue must wait for the device. A wake-up targets unreachable devices, so it has its own delay
 * and does not block the queue.
 */
export const mustWaitForDevice = (
  command: Command,
  result: AttemptResult,
): result is Extract<AttemptResult, { kind: 'notSent' }> =>
  result.kind === 'notSent' && result.isOfDevice === true && command.type !== 'wakeup';

function toResponded(
  command: Command,
  { result, messageId, serial, response }: Extract<AttemptResult, { kind: 'answered' }>,
  sent: SentFrame | undefined,
  now: Date,
): CommandChange {
  const fields = {
    ...doneFields(now),
    messageId,
    ...sentFields(command, sent, now),
    serial: serial ?? sent?.serialNo ?? null,
    result,
    answer: response === null ? null : JSON.stringify(response),
  };
  return result === 'success'
    ? { ...fields, status: 'acknowledged' }
    : { ...fields, status: 'failed', error: 'refused' };
}

/** Queues a repeatable command again until its last attempt; any other command fails. */
function toUnanswered(command: Command, sent: SentFrame | undefined, now: Date): CommandChange {
  const fields = sentFields(command, sent, now);
  const isLast = command.attempts + 1 >= command.maxAttempts;
  if (!isRepeatable(command.type) || isLast)
    return { ...doneFields(now), ...fields, status: 'failed', error: 'unanswered' };
  return { ...fields, flight: null, status: 'queued', notBefore: after(now, unansweredDelayMs) };
}

const after = (now: Date, delayMs: number): Date => new Date(now.getTime() + delayMs);

const doneFields = (now: Date) => ({ flight: null, notBefore: null, completedAt: now });

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
