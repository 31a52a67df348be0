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

/** Command encoded as the message of one edition. */
export interface CommandMessage {
  readonly messageId: number;
  readonly body: Buffer;
}

/** Encodes a command in the edition of a terminal. Throws EncodeError when a value does not fit. */
export function buildCommandMessage(command: DeviceCommand, edition: Edition): CommandMessage {
  switch (command.kind) {
    case 'wakeUp':
      // Editions before 2019 have no side-effect-free probe. A location query is the closest.
      return edition === '2019' ? encodeCommand(linkDetection, {}, edition) : encodeCommand(queryLocation, {}, edition);
    case 'startLive':
      return encodeCommand(liveStreamRequest, { ...command, serverIp: command.server }, edition);
    case 'controlLive':
      return encodeCommand(liveStreamControl, command, edition);
    case 'startPlayback': {
      const { server, startTime, endTime } = command;
      const times = { startTime: toCameraTime(startTime), endTime: toCameraTime(endTime) };
      return encodeCommand(playbackRequest, { ...command, serverIp: server, ...times }, edition);
    }
    case 'controlPlayback':
      return encodeCommand(playbackControl, { ...command, seekTime: toCameraTime(command.seekTime) }, edition);
    case 'listRecordings':
      return encodeCommand(queryResourceList, toRecordingFilter(command), edition);
    case 'requestUpload':
      return encodeCommand(fileUploadRequest, { ...command, ...toRecordingFilter(command) }, edition);
    case 'controlUpload':
      return encodeCommand(
        fileUploadControl,
        { replySerial: command.uploadSerialNo, control: command.control },
        edition,
      );
    case 'terminalControl':
      return encodeCommand(
        terminalControl,
        { command: command.command, parameters: command.parameters ?? '' },
        edition,
      );
    case 'sendText':
      return encodeCommand(textMessage, toTextBody(command, edition), edition);
    case 'queryAvAttributes':
      return encodeCommand(queryAvAttributes, {}, edition);
    case 'takePictures':
      return encodeCommand(cameraShoot, toShootBody(command), edition);
    case 'setParameters':
      return encodeCommand(setParameters, { params: command.parameters.map(toParameterItem) }, edition);
    case 'queryParameters':
      return command.parameterIds.length === 0
        ? encodeCommand(queryParameters, {}, edition)
        : encodeCommand(queryParametersByIds, { paramIds: command.parameterIds }, edition);
    case 'queryAttributes':
      return encodeCommand(queryAttributes, {}, edition);
    case 'queryLocation':
      return encodeCommand(queryLocation, {}, edition);
    case 'confirmAlarm':
      return encodeCommand(confirmAlarm, { ...command, alarmSerial: command.alarmSerialNo }, edition);
    case 'requestAttachments':
      return encodeCommand(alarmAttachmentUpload, toAttachmentRequest(command), edition);
    case 'controlDoors':
      return encodeCommand(vehicleControl, toDoorBody(command.isLocked, edition), edition);
    case 'raw':
      return { messageId: command.messageId, body: Buffer.from(command.bodyHex, 'hex') };
  }
}

function encodeCommand<D extends MessageDefinition>(definition: D, body: BodyOf<D>, edition: Edition): CommandMessage {
  return { messageId: definition.id, body: encodeBody(definition, body, edition) };
}

const toParameterItem = ({ id, valueHex }: { id: number; valueHex: string }): ParameterItem => ({
  id,
  bytes: Buffer.from(valueHex, 'hex'),
});

const toShootBody = ({ count, intervalSeconds, isStored, ...picture }: DeviceCommandOf<'takePictures'>) => ({
  ...picture,
  command: count,
  intervalS: intervalSeconds,
  saveFlag: isStored ? 1 : 0,
});

const toAttachmentRequest = ({ server, tagHex, ...request }: DeviceCommandOf<'requestAttachments'>) => ({
  ...request,
  serverIp: server,
  tag: readAlarmTag(Buffer.from(tagHex, 'hex')),
  reserved: Buffer.alloc(16),
});

/**
 * Encodes the lock state: before 2019 flag bit 0 set locks; since 2019 an item locks with value 0 (JT/T 808-2013 table
 * 53, JT/T 808-2019 table 58).
 */
const toDoorBody = (isLocked: boolean, edition: Edition): BodyOf<typeof vehicleControl> =>
  edition === '2019'
    ? { items: [{ id: 0x0001, parameter: Buffer.from([isLocked ? 0 : 1]) }] }
    : { controlFlags: isLocked ? 1 : 0 };

/** Converts twelve digits in the terminal's local time. Null ("unbounded") is encoded as all zeros. */
const toCameraTime = (digits: string | null): { bcd: string } | null => (digits === null ? null : { bcd: digits });

function toRecordingFilter(command: DeviceCommandOf<'listRecordings'> | DeviceCommandOf<'requestUpload'>) {
  const { channel, mediaType, streamType, storageType } = command;
  return {
    channel,
    mediaType,
    streamType,
    storageType,
    startTime: toCameraTime(command.startTime),
    endTime: toCameraTime(command.endTime),
    alarmFlags: BigInt(command.alarmFlags),
  };
}

/** Encodes flags and text type of 0x8300, whose meaning depends on the edition (JT/T 808 reference, section 11). */
function toTextBody(
  { text, textType, options }: DeviceCommandOf<'sendText'>,
  edition: Edition,
): BodyOf<typeof textMessage> {
  const emergency = options === null || options.emergency;
  // Bit 5 stays 0. Set, it marks the text as a CAN fault code.
  const sharedFlags =
    (options?.displayByTerminal === true ? 0x04 : 0) |
    (options?.tts === true ? 0x08 : 0) |
    (options?.displayByAdvertisingScreen === true ? 0x10 : 0);
  if (edition !== '2019') return { flags: sharedFlags | (emergency ? 1 : 0), text };
  return { flags: sharedFlags | getTextFlags(emergency, textType), textType: textType === 'Service' ? 2 : 1, text };
}

function getTextFlags(emergency: boolean, textType: 'Notification' | 'Service' | null): number {
  if (emergency) return 0b10;
  if (textType === null) return 0;
  return textType === 'Service' ? 0b01 : 0b11;
}
