import type { CommandContext } from '../deps.ts';
import { encodeControlParameters } from '../domain/control-parameters.ts';
import { type GeneralResponse, toGeneralResponse } from '../domain/outcome.ts';
import { type CommandDeps, sendCommand } from './send-command.ts';

interface SendControlCommandRequest {
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
  deps: CommandDeps,
  { imei, command, parameters }: SendControlCommandRequest,
  context: CommandContext,
): Promise<GeneralResponse> {
  const deviceCommand = {
    kind: 'terminalControl',
    command,
    parameters: encodeControlParameters(command, parameters),
  } as const;
  return toGeneralResponse(await sendCommand(deps, imei, deviceCommand, context));
}
