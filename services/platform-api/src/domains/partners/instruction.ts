import { type DeviceCommand, partnerCommandNumbers as proNos } from '@fleet/bus';
import { readParameterValue } from '@fleet/jt808';

/** A command in the format of the vendor hub. */
interface PartnerInstruction {
  /** Message id of the command; decimal on the wire. */
  readonly proNo: number;
  /** Text, or JSON with the hub's field names. */
  readonly cmdContent: string;
}

/** The hub's harmless query of whether a device is connected. */
const statusQuery = 'STATUS#';

type Content = readonly [proNo: number, content: object | string];

/**
 * Converts a command to the hub's format; null if the command channel does not support it. As in the hub, times are in
 * the camera's local time.
 */
export function toPartnerInstruction(command: DeviceCommand): PartnerInstruction | null {
  const found = toContent(command);
  if (found === null) return null;
  const [proNo, content] = found;
  return { proNo, cmdContent: typeof content === 'string' ? content : JSON.stringify(content) };
}

function toContent(command: DeviceCommand): Content | null {
  switch (command.kind) {
    case 'wakeUp':
      return [proNos.onlineText, statusQuery];
    case 'sendText':
      return [proNos.text, command.text];
    case 'terminalControl':
      return [proNos.terminalControl, { command: command.command, parameters: command.parameters ?? '' }];
    case 'setParameters':
      return [proNos.setParameters, Object.fromEntries(command.parameters.map(toParameter))];
    case 'takePictures': {
      const { channel, count: cmd, intervalSeconds: interval, isStored, ...more } = command;
      const { resolution, quality, brightness, contrast, saturation, chroma } = more;
      const kind = { resolution, quality, brightness, contrast, saturation, chroma };
      return [proNos.takePictures, { channel, cmd, interval, saveFlag: isStored ? 1 : 0, ...kind }];
    }
    default:
      return toVideoContent(command);
  }
}

function toVideoContent(command: DeviceCommand): Content | null {
  switch (command.kind) {
    case 'startLive': {
      const { channel, dataType, streamType: codeStreamType } = command;
      return [proNos.startLive, { channel, dataType, codeStreamType, ...toLiveServer(command) }];
    }
    case 'controlLive': {
      const { channel, control: cmd, closeType: dataType, streamType: codeStreamType } = command;
      return [proNos.controlLive, { channel, cmd, dataType, codeStreamType }];
    }
    case 'startPlayback': {
      const { server: serverAddress, tcpPort, udpPort, playbackMode: playMethod, speed: forwardRewind } = command;
      const how = { playMethod, forwardRewind };
      return [proNos.startPlayback, { serverAddress, tcpPort, udpPort, ...toClip(command), ...how }];
    }
    case 'controlPlayback': {
      const { channel, control: playCtrl, speed: forwardRewind, seekTime } = command;
      return [proNos.controlPlayback, { channel, playCtrl, forwardRewind, beginTime: seekTime ?? '' }];
    }
    case 'listRecordings':
      return [proNos.listRecordings, { ...toClip(command), alarmFlag: toAlarm(command.alarmFlags) }];
    case 'requestUpload': {
      const { server: serverAddress, port, username: userName, password, path: fileUploadPath, conditions } = command;
      const where = { serverAddress, port, userName, password, fileUploadPath, condition: conditions };
      return [proNos.requestUpload, { ...where, ...toClip(command), alarmFlag: toAlarm(command.alarmFlags) }];
    }
    default:
      return null;
  }
}

const toLiveServer = ({ server, tcpPort, udpPort }: { server: string; tcpPort: number; udpPort: number }) => ({
  videoIP: server,
  videoTCPPort: String(tcpPort),
  videoUDPPort: String(udpPort),
});

interface Clip {
  readonly channel: number;
  readonly mediaType: number;
  readonly streamType: number;
  readonly storageType: number;
  readonly startTime: string | null;
  readonly endTime: string | null;
}

const toClip = ({ channel, mediaType, streamType, storageType, startTime, endTime }: Clip) => ({
  channel,
  resourceType: mediaType,
  codeType: streamType,
  storageType,
  beginTime: startTime ?? '',
  endTime: endTime ?? '',
});

/** Returns a number if JSON readers can represent it exactly, else the text. */
const toAlarm = (flags: string): number | string => (Number.isSafeInteger(Number(flags)) ? Number(flags) : flags);

/**
 * Keys are decimal ids, as in the hub. Values that are neither numbers nor text in the table of the standard are
 * hexadecimal.
 */
function toParameter({ id, valueHex }: { id: number; valueHex: string }): [string, string] {
  const value = readParameterValue({ id, bytes: Buffer.from(valueHex, 'hex') });
  return [String(id), value === undefined ? valueHex : String(value)];
}
