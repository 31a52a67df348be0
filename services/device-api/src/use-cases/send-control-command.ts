import type { CommandContext } from '../deps.ts';
import { controlParameters } from '../domain/control-parameters.ts';
import { type GeneralAnswer, generalAnswerOf } from '../domain/outcome.ts';
import { type AskDeps, askDevice } from './ask-device.ts';

export interface SendControlCommand {
  /** Canonical number. */
  readonly imei: string;
  /** JT/T 808-2013 table 18; other numbers are sent unchanged. */
  readonly command: number;
  readonly parameters: string | null;
}

/**
 * Sends a terminal control command (0x8105). Edition 2019 has only 2, 4 and 5; the terminal decides about the others.
 */
export async function sendControlCommand(
  deps: AskDeps,
  { imei, command, parameters }: SendControlCommand,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const wanted = { kind: 'terminalControl', command, parameters: controlParameters(command, parameters) } as const;
  return generalAnswerOf(await askDevice(deps, imei, wanted, context));
}
