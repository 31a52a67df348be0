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
import { accept, createMessage, defineHandler, type HandlerContext, type Handlers, refuse } from './handler-context.ts';

/** Duration of "power off" and "stop communication": then a simulated driver switches the terminal on again. */
const poweredOffMs = 60_000;

const commandsNotIn2019: ReadonlySet<number> = new Set([
  Command.wirelessUpgrade,
  Command.powerOff,
  Command.stopDataCommunication,
  Command.stopAllCommunication,
]);

/**
 * Runs command 2: `control; auth code; APN; user; password; address; TCP port; …`. Control 1 means back to its original
 * server.
 */
function connectToServer(terminal: HandlerContext, parameters: string): void {
  const fields = parameters.split(';');
  const [control, address, port] = [fields[0], fields[5] ?? '', Number(fields[6])];
  const { host: ownHost, port: ownPort, restartMs } = terminal.options;
  const isServerGiven = control === '0' && address !== '' && Number.isInteger(port) && port > 0;
  const server = isServerGiven ? { host: address, port } : { host: ownHost, port: ownPort };
  terminal.dropAndReconnect({ downtimeMs: restartMs, server });
}

function runControlCommand(terminal: HandlerContext, command: number, parameters: string): void {
  const { restartMs } = terminal.options;
  if (command !== Command.connectToServer) {
    terminal.cameras.closeAll('restart');
    terminal.uploads.interrupt();
  }
  if (command === Command.connectToServer) connectToServer(terminal, parameters);
  else if (command === Command.reset || command === Command.wirelessUpgrade)
    terminal.dropAndReconnect({ downtimeMs: restartMs });
  else if (command === Command.factoryReset)
    terminal.dropAndReconnect({ downtimeMs: restartMs, clearRegistration: true });
  else terminal.dropAndReconnect({ downtimeMs: poweredOffMs });
}

/** Handlers for parameters, control, attributes and location. */
export const settingsHandlers: Handlers = {
  ...defineHandler(setParameters, (body, message, terminal) => {
    terminal.parameters.set(body.params);
    return accept(message, () => terminal.applyParameters());
  }),
  ...defineHandler(queryParameters, (_body, message, terminal) => {
    const response = { replySerial: message.serial, params: terminal.parameters.all() };
    return { responses: [createMessage(queryParametersResponse, response, terminal.options.edition)] };
  }),
  ...defineHandler(queryParametersByIds, (body, message, terminal) => {
    const response = { replySerial: message.serial, params: terminal.parameters.find(body.paramIds) };
    return { responses: [createMessage(queryParametersResponse, response, terminal.options.edition)] };
  }),
  ...defineHandler(terminalControl, (body, message, terminal) => {
    const { command } = body;
    const isKnown = command >= Command.wirelessUpgrade && command <= Command.stopAllCommunication;
    const isRemoved = terminal.options.edition === '2019' && commandsNotIn2019.has(command);
    if (!isKnown || isRemoved) return refuse(message, ReplyResult.unsupported);
    return accept(message, () => runControlCommand(terminal, command, body.parameters));
  }),
  ...defineHandler(queryAttributes, (_body, _message, terminal) => {
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
    return { responses: [createMessage(queryAttributesResponse, attributes, options.edition)] };
  }),
  ...defineHandler(queryLocation, (_body, message, terminal) => {
    const { edition } = terminal.options;
    const location = { ...terminal.vehicle.location(), replySerial: message.serial };
    return { responses: [createMessage(queryLocationResponse, location, edition)] };
  }),
  ...defineHandler(trackControl, (body, message, terminal) =>
    accept(message, () => terminal.startTemporaryTracking(body.intervalS * 1000, (body.validityS ?? 0) * 1000)),
  ),
  ...defineHandler(confirmAlarm, (body, message, terminal) =>
    accept(message, () => terminal.vehicle.alarms.acknowledge(body.alarmTypes)),
  ),
  ...defineHandler(linkDetection, (_body, message) => accept(message)),
};
