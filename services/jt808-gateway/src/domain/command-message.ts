import type { DeviceCommand, DeviceCommandOf } from '@fleet/bus';
import {
  alarmAttachmentUpload,
  type BodyOf,
  cameraShoot,
  confirmAlarm,
  type Edition,
  encodeBody,
  fileUploadControl,
  fileUploadRequest,
  linkDetection,
  liveStreamControl,
  liveStreamRequest,
  type MessageDefinition,
  type ParameterItem,
  playbackControl,
  playbackRequest,
  queryAttributes,
  queryAvAttributes,
  queryLocation,
  queryParameters,
  queryParametersByIds,
  queryResourceList,
  readAlarmTag,
  setParameters,
  terminalControl,
  textMessage,
  vehicleControl,
} from '@fleet/jt808';

/** A command as the message of one edition. */
export interface CommandMessage {
  readonly messageId: number;
  readonly body: Buffer;
}

/** The message of a command in a terminal's edition; throws the codec's EncodeError when a value does not fit. */
export function commandMessage(command: DeviceCommand, edition: Edition): CommandMessage {
  switch (command.kind) {
    case 'wakeUp':
      // Before 2019 there is no harmless probe: a location query is the nearest.
      return edition === '2019' ? message(linkDetection, {}, edition) : message(queryLocation, {}, edition);
    case 'startLive':
      return message(liveStreamRequest, { ...command, serverIp: command.server }, edition);
    case 'controlLive':
      return message(liveStreamControl, command, edition);
    case 'startPlayback': {
      const { server, startTime, endTime } = command;
      const times = { startTime: cameraTime(startTime), endTime: cameraTime(endTime) };
      return message(playbackRequest, { ...command, serverIp: server, ...times }, edition);
    }
    case 'controlPlayback':
      return message(playbackControl, { ...command, seekTime: cameraTime(command.seekTime) }, edition);
    case 'listRecordings':
      return message(queryResourceList, recordingFilter(command), edition);
    case 'requestUpload':
      return message(fileUploadRequest, { ...command, ...recordingFilter(command) }, edition);
    case 'controlUpload':
      return message(fileUploadControl, { replySerial: command.uploadSerialNo, control: command.control }, edition);
    case 'terminalControl':
      return message(terminalControl, { command: command.command, parameters: command.parameters ?? '' }, edition);
    case 'sendText':
      return message(textMessage, textBody(command, edition), edition);
    case 'queryAvAttributes':
      return message(queryAvAttributes, {}, edition);
    case 'takePictures':
      return message(cameraShoot, shootBody(command), edition);
    case 'setParameters':
      return message(setParameters, { params: command.parameters.map(parameterItem) }, edition);
    case 'queryParameters':
      return command.parameterIds.length === 0
        ? message(queryParameters, {}, edition)
        : message(queryParametersByIds, { paramIds: command.parameterIds }, edition);
    case 'queryAttributes':
      return message(queryAttributes, {}, edition);
    case 'queryLocation':
      return message(queryLocation, {}, edition);
    case 'confirmAlarm':
      return message(confirmAlarm, { ...command, alarmSerial: command.alarmSerialNo }, edition);
    case 'requestAttachments':
      return message(alarmAttachmentUpload, attachmentRequest(command), edition);
    case 'controlDoors':
      return message(vehicleControl, doorBody(command.isLocked, edition), edition);
    case 'raw':
      return { messageId: command.messageId, body: Buffer.from(command.bodyHex, 'hex') };
  }
}

function message<D extends MessageDefinition>(definition: D, body: BodyOf<D>, edition: Edition): CommandMessage {
  return { messageId: definition.id, body: encodeBody(definition, body, edition) };
}

const parameterItem = ({ id, valueHex }: { id: number; valueHex: string }): ParameterItem => ({
  id,
  bytes: Buffer.from(valueHex, 'hex'),
});

const shootBody = ({ count, intervalSeconds, isStored, ...picture }: DeviceCommandOf<'takePictures'>) => ({
  ...picture,
  command: count,
  intervalS: intervalSeconds,
  saveFlag: isStored ? 1 : 0,
});

const attachmentRequest = ({ server, tagHex, ...request }: DeviceCommandOf<'requestAttachments'>) => ({
  ...request,
  serverIp: server,
  tag: readAlarmTag(Buffer.from(tagHex, 'hex')),
  reserved: Buffer.alloc(16),
});

/** Flag bit 0 set locks before 2019; there it is an item, whose 0 locks (JT/T 808-2013 table 53, JT/T 808-2019 table 58). */
const doorBody = (isLocked: boolean, edition: Edition): BodyOf<typeof vehicleControl> =>
  edition === '2019'
    ? { items: [{ id: 0x0001, parameter: Buffer.from([isLocked ? 0 : 1]) }] }
    : { controlFlags: isLocked ? 1 : 0 };

/** Twelve digits on the terminal's own clock; null, "no bound", is all zeros. */
const cameraTime = (digits: string | null): { bcd: string } | null => (digits === null ? null : { bcd: digits });

function recordingFilter(command: DeviceCommandOf<'listRecordings'> | DeviceCommandOf<'requestUpload'>) {
  const { channel, mediaType, streamType, storageType } = command;
  return {
    channel,
    mediaType,
    streamType,
    storageType,
    startTime: cameraTime(command.startTime),
    endTime: cameraTime(command.endTime),
    alarmFlags: BigInt(command.alarmFlags),
  };
}

/** Flags and text type of 0x8300, which mean something else in each edition (JT/T 808 reference, section 11). */
function textBody(
  { text, textType, options }: DeviceCommandOf<'sendText'>,
  edition: Edition,
): BodyOf<typeof textMessage> {
  const emergency = options === null || options.emergency;
  // Bit 5 stays 0: its other value would say that the text is a CAN fault code.
  const shared =
    (options?.displayByTerminal === true ? 0x04 : 0) |
    (options?.tts === true ? 0x08 : 0) |
    (options?.displayByAdvertisingScreen === true ? 0x10 : 0);
  if (edition !== '2019') return { flags: shared | (emergency ? 1 : 0), text };
  return { flags: shared | importance(emergency, textType), textType: textType === 'Service' ? 2 : 1, text };
}

function importance(emergency: boolean, textType: 'Notification' | 'Service' | null): number {
  if (emergency) return 0b10;
  if (textType === null) return 0;
  return textType === 'Service' ? 0b01 : 0b11;
}
