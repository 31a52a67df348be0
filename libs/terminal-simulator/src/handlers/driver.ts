import { randomBytes } from 'node:crypto';
import {
  downlinkPassthrough,
  driverReport,
  platformRsaKey,
  queryAreas,
  queryAreasResponse,
  queryDriver,
  questionResponse,
  recorderDataRequest,
  recorderDataUpload,
  sendQuestion,
  terminalRsaKey,
  textMessage,
  vehicleControl,
  vehicleControlResponse,
} from '@fleet/jt808';
import {
  accept,
  createMessage,
  defineHandler,
  type Handler,
  type HandlerContext,
  type Handlers,
} from './handler-context.ts';

/** Creates the 0x0702 of the driver whose card is inserted. */
export function createDriverCardMessage(terminal: HandlerContext) {
  const { edition, phone } = terminal.options;
  const common = { driverName: '张伟', issuer: '深圳市交通运输局', certificateNo: `4403${phone.slice(-8)}` };
  if (edition === '2011') return createMessage(driverReport, { ...common, idCardNo: '440300199001010011' }, edition);
  const { time } = terminal.vehicle.location();
  const card = { ...common, status: 1, time, cardReadResult: 0, validUntil: '2030-12-31' };
  return createMessage(driverReport, edition === '2019' ? { ...card, idCardNo: '440300199001010011' } : card, edition);
}

/** Returns true if the doors are to be locked: bit 0 of the flags until 2013; item 1 of 2019 in the opposite sense. */
function isDoorLockRequested(body: {
  controlFlags?: number | undefined;
  items?: { id: number; parameter: Buffer }[] | undefined;
}) {
  if (body.items === undefined) return ((body.controlFlags ?? 0) & 1) === 1;
  return body.items.find((item) => item.id === 1)?.parameter[0] === 0;
}

const acceptOnly: Handler = (message) => accept(message);

/**
 * Messages that a terminal only acknowledges: events, menus, information, phone calls, areas and routes, recorder
 * settings.
 */
const acceptedMessageIds = [
  0x8108, 0x8301, 0x8303, 0x8304, 0x8400, 0x8401, 0x8600, 0x8601, 0x8602, 0x8603, 0x8604, 0x8605, 0x8606, 0x8607,
  0x8701,
];

/** Handlers for texts, questions, doors, areas, recorder and driver. */
export const driverHandlers: Handlers = {
  ...Object.fromEntries(acceptedMessageIds.map((messageId) => [messageId, acceptOnly])),
  ...defineHandler(textMessage, (_body, message) => accept(message)),
  ...defineHandler(sendQuestion, (body, message, terminal) =>
    accept(message, () => {
      const response = { replySerial: message.serial, answerId: body.answers[0]?.id ?? 0 };
      terminal.send(createMessage(questionResponse, response, terminal.options.edition));
    }),
  ),
  ...defineHandler(vehicleControl, (body, message, terminal) =>
    accept(message, () => {
      terminal.vehicle.isDoorLocked = isDoorLockRequested(body);
      const response = { replySerial: message.serial, ...terminal.vehicle.location() };
      terminal.send(createMessage(vehicleControlResponse, response, terminal.options.edition));
    }),
  ),
  ...defineHandler(queryAreas, (body, _message, terminal) => {
    const response = { queryType: body.queryType, count: 0, data: Buffer.alloc(0) };
    return { responses: [createMessage(queryAreasResponse, response, terminal.options.edition)] };
  }),
  ...defineHandler(recorderDataRequest, (body, message, terminal) => {
    const response = { replySerial: message.serial, command: body.command, data: Buffer.alloc(0) };
    return { responses: [createMessage(recorderDataUpload, response, terminal.options.edition)] };
  }),
  ...defineHandler(queryDriver, (_body, _message, terminal) => ({ responses: [createDriverCardMessage(terminal)] })),
  ...defineHandler(downlinkPassthrough, (_body, message) => accept(message)),
  ...defineHandler(platformRsaKey, (_body, _message, terminal) => {
    return { responses: [createMessage(terminalRsaKey, { e: 65_537, n: randomBytes(128) }, terminal.options.edition)] };
  }),
};
