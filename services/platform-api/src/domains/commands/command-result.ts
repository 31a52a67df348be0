import type { DeviceResponse } from '@fleet/bus';
import { cameraShootResponse, formatMessageBody, tryDecodeBody } from '@fleet/jt808';

/** Results of the terminal general response 0x0001 by number (JT/T 808 table 9). */
const results = ['success', 'failure', 'incorrectInfo', 'unsupported'];
/** Results of 0x0805 by number (JT/T 808-2013 table 84). */
const captureResults = ['success', 'failure', 'unsupported'];

/** Converts the response of a terminal to the result and the response fields of its command. */
export function toCommandResult({ result, message }: DeviceResponse): {
  result: string;
  response: Record<string, unknown> | null;
} {
  if (message === null) return { result: resultName(results, result), response: null };
  const body = Buffer.from(message.bodyBase64, 'base64');
  const { reply_serial: _serial, ...fields } = formatMessageBody(message.id, body, message.edition);
  const commandResult = { result: 'success', response: { message_id: formatMessageId(message.id), ...fields } };
  if (message.id !== cameraShootResponse.id) return commandResult;
  const shot = tryDecodeBody(cameraShootResponse, body, message.edition);
  return shot.ok ? { ...commandResult, result: resultName(captureResults, shot.body.result) } : commandResult;
}

const resultName = (words: readonly string[], no: number | null): string =>
  words[no ?? -1] ?? `unknown (${no ?? 'none'})`;

/** Returns a message id in the form `0x8300`. */
export const formatMessageId = (id: number): string => `0x${id.toString(16).padStart(4, '0')}`;
