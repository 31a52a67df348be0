import { joinControlParameters, TerminalControlCommand } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import { gbkBytesOf } from './gbk.ts';

/**
 * With the command byte, the largest body of one frame: a terminal that does not reassemble messages must not execute
 * half a command.
 */
export const controlParametersLimitBytes = 1022;

interface Field {
  readonly name: string;
  /** Numbers are decimal text, JT/T 808-2013 table 19; a field without a range is text. */
  readonly maximum?: number;
}

const word = (name: string): Field => ({ name, maximum: 65_535 });
const dial: readonly Field[] = [{ name: 'dial point (APN)' }, { name: 'user name' }, { name: 'password' }];
const server: readonly Field[] = [{ name: 'address' }, word('TCP port'), word('UDP port')];

const upgradeFields: readonly Field[] = [
  { name: 'URL' },
  ...dial,
  ...server,
  { name: 'manufacturer id' },
  { name: 'hardware version' },
  { name: 'firmware version' },
  word('time limit'),
];

const connectFields: readonly Field[] = [
  { name: 'connection control', maximum: 1 },
  { name: 'authentication code' },
  ...dial,
  ...server,
  word('time limit'),
];

/** Value of the connection control that sends a terminal back to its own server; no field follows it. */
const backToOwnServer = '1';

/**
 * Returns the parameters of a terminal control command (0x8105) as they are sent. Commands 1 and 2 have the fields of
 * JT/T 808-2013 table 19; absent ones at the end are empty and keep their `;`. Commands 3 to 7 have none. Other,
 * vendor-defined commands are passed on unchanged. Throws 400 for anything else.
 */
export function controlParameters(command: number, given: string | null): string | null {
  if (given === null || given === '') return null;
  const parameters = encoded(command, given);
  const bytes = gbkBytesOf('parameters', parameters);
  if (bytes > controlParametersLimitBytes)
    throw invalid(`has ${bytes} bytes in GBK; at most ${controlParametersLimitBytes} can be sent`);
  return parameters;
}

function encoded(command: number, given: string): string {
  switch (command) {
    case TerminalControlCommand.wirelessUpgrade:
      return joinControlParameters(readFields(command, upgradeFields, given));
    case TerminalControlCommand.connectToServer:
      return connectParameters(readFields(command, connectFields, given));
    case TerminalControlCommand.powerOff:
    case TerminalControlCommand.reset:
    case TerminalControlCommand.factoryReset:
    case TerminalControlCommand.stopDataCommunication:
    case TerminalControlCommand.stopAllCommunication:
      throw invalid(`must be absent with command ${command}: the standard defines none for it`);
    default:
      return given;
  }
}

function connectParameters(values: readonly string[]): string {
  const [control, ...rest] = values;
  if (control === '') throw invalid('must begin with the connection control of command 2: 0 (connect) or 1 (go back)');
  if (control !== backToOwnServer) return joinControlParameters(values);
  if (rest.some((value) => value !== ''))
    throw invalid('must hold nothing more where the connection control is 1 (go back to the own server)');
  return backToOwnServer;
}

function readFields(command: number, fields: readonly Field[], given: string): string[] {
  const values = given.split(';');
  // Many clients write a `;` after the last field.
  if (values.length === fields.length + 1 && values.at(-1) === '') values.pop();
  if (values.length > fields.length)
    throw invalid(`holds ${values.length} parameters; command ${command} has ${fields.length}`);
  return fields.map((field, at) => checked(field, at, values[at] ?? ''));
}

function checked({ name, maximum }: Field, at: number, value: string): string {
  if (maximum === undefined || value === '') return value;
  if (!/^(0|[1-9]\d{0,4})$/.test(value) || Number(value) > maximum)
    throw invalid(`must have a whole number of 0 to ${maximum}, or nothing, as parameter ${at + 1} (${name})`);
  return value;
}

const invalid = (what: string): AppError => new AppError('validation_failed', `The body field parameters ${what}.`);
