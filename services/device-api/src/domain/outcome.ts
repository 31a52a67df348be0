import type { DeviceResponse, Outcome } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';

/** `TerminalGeneralResponse` of the interface in code. */
export interface GeneralResponse {
  readonly responseId: string;
  readonly result: 'success' | 'failure' | 'incorrectInfo' | 'unsupported';
}

/** Results of the terminal general response 0x0001, JT/T 808 table 9, by number. */
const generalResults = ['success', 'failure', 'incorrectInfo', 'unsupported'] as const;

/** Returns a message id in the interface's format: `0x` and four hex digits. */
export const formatMessageId = (id: number): string => `0x${id.toString(16).padStart(4, '0')}`;

/** Returns a message for a disconnected device, and for one of another account. */
export const notConnectedError = (): AppError => new AppError('device_not_connected', 'The device is not connected.');

export const timeoutError = (): AppError => new AppError('device_timeout', 'The device did not reply in time.');

/**
 * Maps the outcome of a command to a status, in one place: responded 200, not connected 404, timed out 504, unreadable
 * 502, refused 400 (500 for an internal fault), busy 429, broker unavailable 503.
 */
export function unwrapResponse(outcome: Outcome): DeviceResponse {
  switch (outcome.kind) {
    case 'answered':
      return outcome.answer;
    case 'notConnected':
      throw notConnectedError();
    case 'timedOut':
      throw timeoutError();
    case 'unreadable':
      throw new AppError('upstream_error', `The device's reply could not be read: ${toSentence(outcome.detail)}`);
    case 'refused':
      // Nothing was sent: the request does not fit this device's protocol, so other parameters are needed.
      if (outcome.isOurFault === true)
        throw new AppError('internal', 'An unexpected error occurred.', { cause: new Error(outcome.detail) });
      throw new AppError('validation_failed', `The command does not fit this device: ${toSentence(outcome.detail)}`);
    case 'busy':
      // Nothing was sent: the same request can be retried.
      throw new AppError('rate_limited', `The device is busy: ${toSentence(outcome.detail)}`, {
        headers: { 'Retry-After': '1' },
      });
    case 'brokerAway':
      throw new AppError(
        'unavailable',
        'Devices are unavailable at the moment: the message broker is down. Retry later.',
      );
    default:
      return outcome satisfies never;
  }
}

/** Returns the response body of a command with a terminal general response. */
export function toGeneralResponse(outcome: Outcome): GeneralResponse {
  const response = unwrapResponse(outcome);
  const result = response.result === null ? undefined : generalResults[response.result];
  // No caller could act on another code, or on another message in its place.
  if (result === undefined)
    throw new AppError(
      'upstream_error',
      response.result === null
        ? "The device's reply could not be read: it has no result."
        : `The device's reply could not be read: its result code ${response.result} is not one of the standard's.`,
    );
  return { responseId: formatMessageId(response.commandMessageId), result };
}

/** Returns true if the device executed the command. */
export const isAccepted = (outcome: Outcome): boolean => outcome.kind === 'answered' && outcome.answer.result === 0;

const toSentence = (detail: string): string => (/[.!?]$/.test(detail) ? detail : `${detail}.`);
