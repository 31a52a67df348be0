import {
  TerminalControlCommand as Command,
  confirmAlarm,
  linkDetection,
  queryAttributes,
  queryAttributesResponse,
  queryLocation,
  queryLocationResponse,
  queryParameters,
  queryParametersByIds,
  queryParametersResponse,
  ReplyResult,
  setParameters,
  terminalControl,
  trackControl,
} from '@fleet/jt808';
import { accept, type Handlers, handle, messageOf, refuse, type TerminalContext } from './answering.ts';

/** How long "power off" and "stop communication" last here: a simulated driver switches it on again. */
const POWERED_OFF_MS = 60_000;

const NOT_IN_2019: ReadonlySet<number> = new Set([
  Command.wirelessUpgrade,
  Command.powerOff,
  Command.stopDataCommunication,
  Command.stopAllCommunication,
]);

/** Command 2: `control; auth code; APN; user; password; address; TCP port; …`; control 1 means back to the own server. */
function connectToServer(terminal: TerminalContext, parameters: string): void {
  const fields = parameters.split(';');
  const [control, address, port] = [fields[0], fields[5] ?? '', Number(fields[6])];
  const { host: ownHost, port: ownPort, restartMs } = terminal.options;
  const named = control === '0' && address !== '' && Number.isInteger(port) && port > 0;
  const server = named ? { host: address, port } : { host: ownHost, port: ownPort };
  terminal.dropAndReturn({ awayMs: restartMs, server });
}

function obey(terminal: TerminalContext, command: number, parameters: string): void {
  const { restartMs } = terminal.options;
  if (command !== Command.connectToServer) {
    terminal.cameras.closeAll('restart');
    terminal.uploads.interrupt();
  }
  if (command === Command.connectToServer) connectToServer(terminal, parameters);
  else if (command === Command.reset || command === Command.wirelessUpgrade)
    terminal.dropAndReturn({ awayMs: restartMs });
  else if (command === Command.factoryReset) terminal.dropAndReturn({ awayMs: restartMs, forgetRegistration: true });
  else terminal.dropAndReturn({ awayMs: POWERED_OFF_MS });
}

/** Parameters, control, attributes and location. */
export const settingsHandlers: Handlers = {
  ...handle(setParameters, (body, message, terminal) => {
    terminal.parameters.set(body.params);
    return accept(message, () => terminal.parametersChanged());
  }),
  ...handle(queryParameters, (_body, message, terminal) => {
    const answer = { replySerial: message.serial, params: terminal.parameters.all() };
    return { answers: [messageOf(queryParametersResponse, answer, terminal.options.edition)] };
  }),
  ...handle(queryParametersByIds, (body, message, terminal) => {
    const answer = { replySerial: message.serial, params: terminal.parameters.some(body.paramIds) };
    return { answers: [messageOf(queryParametersResponse, answer, terminal.options.edition)] };
  }),
  ...handle(terminalControl, (body, message, terminal) => {
    const { command } = body;
    const isKnown = command >= Command.wirelessUpgrade && command <= Command.stopAllCommunication;
    const isGone = terminal.options.edition === '2019' && NOT_IN_2019.has(command);
    if (!isKnown || isGone) return refuse(message, ReplyResult.unsupported);
    return accept(message, () => obey(terminal, command, body.parameters));
  }),
  ...handle(queryAttributes, (_body, _message, terminal) => {
    const { options } = terminal;
    const attributes = {
      terminalType: 0b100_0101,
      manufacturerId: options.manufacturerId ?? 'SIMUL',
      terminalModel: options.terminalModel ?? 'SIM-1078',
      terminalId: options.terminalId ?? options.phone.slice(-7),
      iccid: options.phone.padStart(20, '0').slice(-20),
      hardwareVersion: 'SIM-HW-1',
      firmwareVersion: 'SIM-FW-1.0.0',
      gnssAttributes: 0b11,
      communicationAttributes: 0b10_0000,
    };
    return { answers: [messageOf(queryAttributesResponse, attributes, options.edition)] };
  }),
  ...handle(queryLocation, (_body, message, terminal) => {
    const { edition } = terminal.options;
    const location = { ...terminal.vehicle.location(), replySerial: message.serial };
    return { answers: [messageOf(queryLocationResponse, location, edition)] };
  }),
  ...handle(trackControl, (body, message, terminal) =>
    accept(message, () => terminal.followClosely(body.intervalS * 1000, (body.validityS ?? 0) * 1000)),
  ),
  ...handle(confirmAlarm, (body, message, terminal) =>
    accept(message, () => terminal.vehicle.alarms.acknowledged(body.alarmTypes)),
  ),
  ...handle(linkDetection, (_body, message) => accept(message)),
};
