import type { DeviceResponse, Outcome } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';

/** `TerminalGeneralResponse` of the interface in code. */
export interface GeneralAnswer {
  readonly responseId: string;
  readonly result: 'success' | 'failure' | 'incorrectInfo' | 'unsupported';
}

/** Results of the terminal general response 0x0001, JT/T 808 table 9, by number. */
const results = ['success', 'failure', 'incorrectInfo', 'unsupported'] as const;

/** Returns a message id in the interface's format: `0x` and four hex digits. */
export const shownMessageId = (id: number): string => `0x${id.toString(16).padStart(4, '0')}`;

/** Message for a disconnected device, and for one of another account. */
export const notConnected = (): AppError => new AppError('device_not_connected', 'The device is not connected.');

export const timedOut = (): AppError => new AppError('device_timeout', 'The device did not reply in time.');

/** Returns the error for a partner's command that the partner's `command_level` does not allow. */
export const aboveCommandLevel = (): AppError =>
  new AppError('permission_denied', "The partner's command_level does not allow this command.");

/**
 * Maps the outcome of a command to a status, in one place: answered 200, not connected 404, timed out 504, unreadable
 * 502, refused 400 (500 for an internal fault), busy 429, broker unavailable 503.
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
      // Nothing was sent: the request does not fit this device's protocol, so other parameters are needed.
      if (outcome.isOurFault === true)
        throw new AppError('internal', 'An unexpected error occurred.', { cause: new Error(outcome.detail) });
      throw new AppError('validation_failed', `The command does not fit this device: ${sentence(outcome.detail)}`);
    case 'busy':
      // Nothing was sent: the same request can be retried.
      throw new AppError('rate_limited', `The device is busy: ${sentence(outcome.detail)}`, {
        headers: { 'Retry-After': '1' },
      });
    case 'brokerAway':
      throw new AppError('unavailable', 'Devices are unavailable at the moment: the message broker is down.');
    default:
      return outcome satisfies never;
  }
}

/** Returns the response body of a command with a terminal general response. */
export function generalAnswerOf(outcome: Outcome): GeneralAnswer {
  const answer = answerOf(outcome);
  const result = answer.result === null ? undefined : results[answer.result];
  // No caller could act on another code, or on another message in its place.
  if (result === undefined)
    throw new AppError(
      'upstream_error',
      answer.result === null
        ? "The device's reply could not be read: it has no result."
        : `The device's reply could not be read: its result code ${answer.result} is not one of the standard's.`,
    );
  return { responseId: shownMessageId(answer.commandMessageId), result };
}

/** Returns true if the device executed the command. */
export const isAccepted = (outcome: Outcome): boolean => outcome.kind === 'answered' && outcome.answer.result === 0;

const sentence = (detail: string): string => (/[.!?]$/.test(detail) ? detail : `${detail}.`);
