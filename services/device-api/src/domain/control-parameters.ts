import { joinControlParameters, TerminalControlCommand } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import { measureGbkBytes } from './gbk.ts';

/**
 * With the command byte, the largest body of one frame: a terminal that does not reassemble messages must not execute
 * half a command.
 */
export const maxControlParameterBytes = 1022;

interface Field {
  readonly name: string;
  /** Numbers are decimal text, JT/T 808-2013 table 19; a field without a range is text. */
  readonly maximum?: number;
}

const wordField = (name: string): Field => ({ name, maximum: 65_535 });
const dialFields: readonly Field[] = [{ name: 'dial point (APN)' }, { name: 'user name' }, { name: 'password' }];
const serverFields: readonly Field[] = [{ name: 'address' }, wordField('TCP port'), wordField('UDP port')];

const upgradeFields: readonly Field[] = [
  { name: 'URL' },
  ...dialFields,
  ...serverFields,
  { name: 'manufacturer id' },
  { name: 'hardware version' },
  { name: 'firmware version' },
  wordField('time limit'),
];

const connectFields: readonly Field[] = [
  { name: 'connection control', maximum: 1 },
  { name: 'authentication code' },
  ...dialFields,
  ...serverFields,
  wordField('time limit'),
];

/** Value of the connection control that sends a terminal back to its own server; no field follows it. */
const backToOwnServer = '1';

/**
 * Returns the parameters of a terminal control command (0x8105) as they are sent. Commands 1 and 2 have the fields of
 * JT/T 808-2013 table 19; absent ones at the end are empty and keep their `;`. Commands 3 to 7 have none. Other,
 * vendor-defined commands are passed on unchanged. Throws 400 for anything else.
 */
export function encodeControlParameters(command: number, text: string | null): string | null {
  if (text === null || text === '') return null;
  const parameters = encodeByCommand(command, text);
  const bytes = measureGbkBytes('parameters', parameters);
  if (bytes > maxControlParameterBytes)
    throw parametersError(`has ${bytes} bytes in GBK; at most ${maxControlParameterBytes} can be sent`);
  return parameters;
}

function encodeByCommand(command: number, text: string): string {
  switch (command) {
    case TerminalControlCommand.wirelessUpgrade:
      return joinControlParameters(splitFields(command, upgradeFields, text));
    case TerminalControlCommand.connectToServer:
      return encodeConnectParameters(splitFields(command, connectFields, text));
    case TerminalControlCommand.powerOff:
    case TerminalControlCommand.reset:
    case TerminalControlCommand.factoryReset:
    case TerminalControlCommand.stopDataCommunication:
    case TerminalControlCommand.stopAllCommunication:
      throw parametersError(`must be absent with command ${command}: the standard defines none for it`);
    default:
      return text;
  }
}

function encodeConnectParameters(values: readonly string[]): string {
  const [control, ...rest] = values;
  if (control === '')
    throw parametersError('must begin with the connection control of command 2: 0 (connect) or 1 (go back)');
  if (control !== backToOwnServer) return joinControlParameters(values);
  if (rest.some((value) => value !== ''))
    throw parametersError('must hold nothing more if the connection control is 1 (go back to the own server)');
  return backToOwnServer;
}

function splitFields(command: number, fields: readonly Field[], text: string): string[] {
  const values = text.split(';');
  // Many clients write a `;` after the last field.
  if (values.length === fields.length + 1 && values.at(-1) === '') values.pop();
  if (values.length > fields.length)
    throw parametersError(`holds ${values.length} parameters; command ${command} has ${fields.length}`);
  return fields.map((field, index) => validateField(field, index, values[index] ?? ''));
}

function validateField({ name, maximum }: Field, index: number, value: string): string {
  if (maximum === undefined || value === '') return value;
  if (!/^(0|[1-9]\d{0,4})$/.test(value) || Number(value) > maximum)
    throw parametersError(
      `must have a whole number of 0 to ${maximum}, or nothing, as parameter ${index + 1} (${name})`,
    );
  return value;
}

const parametersError = (what: string): AppError =>
  new AppError('validation_failed', `The body field parameters ${what}.`);
