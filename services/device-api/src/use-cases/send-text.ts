import type { DeviceCommandOf } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { CommandContext } from '../deps.ts';
import { gbkBytesOf } from '../domain/gbk.ts';
import { type GeneralAnswer, generalAnswerOf } from '../domain/outcome.ts';
import { type AskDeps, askDevice } from './ask-device.ts';

/** JT/T 808 reference, section 11. */
export const textLimitBytes = 1024;

export interface SendText extends Omit<DeviceCommandOf<'sendText'>, 'kind'> {
  /** Canonical number. */
  readonly imei: string;
}

/** Sends a text message (0x8300); without options it is an emergency message. */
export async function sendText(
  deps: AskDeps,
  { imei, text, textType, options }: SendText,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const bytes = gbkBytesOf('text', text);
  if (bytes > textLimitBytes)
    throw new AppError(
      'validation_failed',
      `The body field text has ${bytes} bytes in GBK; at most ${textLimitBytes} can be sent.`,
    );
  return generalAnswerOf(await askDevice(deps, imei, { kind: 'sendText', text, textType, options }, context));
}
