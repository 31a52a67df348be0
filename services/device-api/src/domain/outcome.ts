import type { DeviceResponse, Outcome } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';

/** The interface's `TerminalGeneralResponse`, as code spells it. */
export interface GeneralAnswer {
  readonly responseId: string;
  readonly result: 'success' | 'failure' | 'incorrectInfo' | 'unsupported';
}

/** Results of the terminal general response 0x0001, JT/T 808 table 9, by their number. */
const results = ['success', 'failure', 'incorrectInfo', 'unsupported'] as const;

/** A message id as the interface shows it: `0x` and four hex digits. */
export const shownMessageId = (id: number): string => `0x${id.toString(16).padStart(4, '0')}`;

/** What is said of a device that is not connected, and of one that is none of the caller's business. */
export const notConnected = (): AppError => new AppError('device_not_connected', 'The device is not connected.');

export const timedOut = (): AppError => new AppError('device_timeout', 'The device did not reply in time.');

/** Returns the error for a partner's command that the partner's `command_level` does not allow. */
export const aboveCommandLevel = (): AppError =>
  new AppError('permission_denied', "The partner's command_level does not allow this command.");

/**
 * The only place where the end of a command becomes a status: answered 200, not connected 404, timed out 504, unreadable 502, refused 400 (500 when the
 * fault is ours), busy 429, broker away 503.
 */
export function answerOf(outcome: Outcome): DeviceResponse {
  switch (outcome.kind) {
    case 'answered':
      return outcome.answer;
    case 'notConnected':
      throw notConnected();
    case 'timedOut':
      throw timedOut();
    case 'unreadable':
      throw new AppError('upstream_error', `The device's reply could not be read: ${sentence(outcome.detail)}`);
    case 'refused':
      // Nothing was sent: what was asked for does not fit into this device's protocol, so other parameters are needed.
      if (outcome.isOurFault === true)
        throw new AppError('internal', 'An unexpected error occurred.', { cause: new Error(outcome.detail) });
      throw new AppError('validation_failed', `The command does not fit this device: ${sentence(outcome.detail)}`);
    case 'busy':
      // Nothing was sent: the same request can be made again in a moment.
      throw new AppError('rate_limited', `The device is busy: ${sentence(outcome.detail)}`, {
        headers: { 'Retry-After': '1' },
      });
    case 'brokerAway':
      throw new AppError('unavailable', 'Devices can not be reached at the moment: the message broker is away.');
    default:
      return outcome satisfies never;
  }
}

/** The body of a command that is answered by a terminal general response. */
export function generalAnswerOf(outcome: Outcome): GeneralAnswer {
  const answer = answerOf(outcome);
  const result = answer.result === null ? undefined : results[answer.result];
  // Another code, or another message in its place, is no answer to this command that anybody could act on.
  if (result === undefined)
    throw new AppError(
      'upstream_error',
      answer.result === null
        ? "The device's reply could not be read: it has no result."
        : `The device's reply could not be read: its result code ${answer.result} is not one of the standard's.`,
    );
  return { responseId: shownMessageId(answer.commandMessageId), result };
}

/** True when the device did what it was told. */
export const isAccepted = (outcome: Outcome): boolean => outcome.kind === 'answered' && outcome.answer.result === 0;

const sentence = (detail: string): string => (/[.!?]$/.test(detail) ? detail : `${detail}.`);
