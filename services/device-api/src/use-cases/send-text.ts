import type { DeviceCommandOf } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { CommandContext } from '../deps.ts';
import { measureGbkBytes } from '../domain/gbk.ts';
import { type GeneralResponse, toGeneralResponse } from '../domain/outcome.ts';
import { type CommandDeps, sendCommand } from './send-command.ts';

/** JT/T 808 reference, section 11. */
export const maxTextBytes = 1024;

interface SendTextRequest extends Omit<DeviceCommandOf<'sendText'>, 'kind'> {
  /** Canonical number. */
  readonly imei: string;
}

/** Sends a text message (0x8300); without options it is an emergency message. */
export async function sendText(
  deps: CommandDeps,
  { imei, text, textType, options }: SendTextRequest,
  context: CommandContext,
): Promise<GeneralResponse> {
  const bytes = measureGbkBytes('text', text);
  if (bytes > maxTextBytes)
    throw new AppError(
      'validation_failed',
      `The body field text has ${bytes} bytes in GBK; at most ${maxTextBytes} can be sent.`,
    );
  return toGeneralResponse(await sendCommand(deps, imei, { kind: 'sendText', text, textType, options }, context));
}
