import {
  audioSampleRates,
  avAttributesResponse,
  fileUploadControl,
  fileUploadRequest,
  liveStreamControl,
  liveStreamRequest,
  liveStreamStatus,
  playbackControl,
  playbackRequest,
  queryAvAttributes,
  queryResourceList,
  ReplyResult,
  resourceList,
} from '@fleet/jt808';
import { PayloadType } from '@fleet/jt1078';
import { toEpochMs } from '../camera-clock.ts';
import type { PlatformMessage } from '../frame-log.ts';
import { getAudioFormat } from '../media/audio-frames.ts';
import type { MediaTarget } from '../media/media-link.ts';
import type { PlaybackMode } from '../media/playback-stream.ts';
import { isQueryMatch, type Recording, type RecordingQuery, selectSegments } from '../recordings.ts';
import type { TerminalMessage } from '../terminal-options.ts';
import {
  accept,
  createMessage,
  defineHandler,
  type Handler,
  type HandlerContext,
  type Handlers,
  refuse,
  toTimeText,
} from './handler-context.ts';

const playbackModes: readonly PlaybackMode[] = ['normal', 'fastForward', 'keyFrameRewind', 'keyFrames', 'singleFrame'];

/** Converts speeds 1 to 5 of JT/T 1078-2016 tables 24 and 25 to factors of 1 to 16. */
const toSpeedFactor = (speed: number): number => (speed >= 1 && speed <= 5 ? 2 ** (speed - 1) : 1);

const toMediaTarget = (body: { serverIp: string; tcpPort: number; udpPort: number }): MediaTarget => ({
  host: body.serverIp,
  tcpPort: body.tcpPort,
  udpPort: body.udpPort,
});

/** Converts the common fields of 0x9205, 0x9201 and 0x9206 to a query of the disk. */
function toRecordingQuery(body: {
  channel: number;
  startTime: Parameters<typeof toTimeText>[0];
  endTime: Parameters<typeof toTimeText>[0];
  alarmFlags?: bigint;
  mediaType: number;
  streamType: number;
  storageType: number;
}): RecordingQuery {
  const { channel, alarmFlags = 0n, streamType, storageType } = body;
  // A request for audio and video also matches recordings without audio.
  const mediaType = body.mediaType === 0 ? 3 : body.mediaType;
  const window = { startTime: toTimeText(body.startTime), endTime: toTimeText(body.endTime) };
  return { channel, alarmFlags, mediaType, streamType, storageType, ...window };
}

function createListMessage(terminal: HandlerContext, message: PlatformMessage, recordings: readonly Recording[]) {
  const items = recordings.map(({ fileSizeBytes, ...recording }) => ({ ...recording, fileSize: fileSizeBytes }));
  return createMessage(resourceList, { replySerial: message.serial, items }, terminal.options.edition);
}

/** Offset of the total in 0x1205, after the reply serial. */
const totalOffset = 2;

/** Creates 0x1205 in the number of messages, and with the total, that the options specify. */
function createListMessages(
  terminal: HandlerContext,
  message: PlatformMessage,
  recordings: readonly Recording[],
): TerminalMessage[] {
  const { listItemsPerMessage = Number.POSITIVE_INFINITY, listMissingItems = 0, listLostParts } = terminal.options;
  const messages: TerminalMessage[] = [];
  for (let at = 0; at < Math.max(1, recordings.length); at += listItemsPerMessage) {
    const listMessage = createListMessage(terminal, message, recordings.slice(at, at + listItemsPerMessage));
    listMessage.body.writeUInt32BE(recordings.length + listMissingItems, totalOffset);
    messages.push(at === 0 ? { ...listMessage, lostParts: listLostParts } : listMessage);
  }
  return messages;
}

const acceptOnly: Handler = (message) => accept(message);

/** Handlers for JT/T 1078 signalling. */
export const videoHandlers: Handlers = {
  // PTZ: the simulated cameras have no motor, but accept the command as real fixed cameras do.
  ...Object.fromEntries([0x9301, 0x9302, 0x9303, 0x9304, 0x9305, 0x9306].map((messageId) => [messageId, acceptOnly])),
  ...defineHandler(queryAvAttributes, (_body, _message, terminal) => {
    const { camera, channels, edition } = terminal.options;
    const {
      payloadType = PayloadType.G711A,
      channels: audioChannels = 1,
      sampleRate = 8000,
    } = getAudioFormat(camera.audio) ?? {};
    const attributes = {
      audioCodec: payloadType,
      audioChannels,
      audioSampleRate: audioSampleRates.indexOf(sampleRate),
      audioBitDepth: 1,
      audioFrameLength: 320,
      audioOutput: 1,
      videoCodec: camera.video === 'h264' ? PayloadType.H264 : PayloadType.H265,
      maxAudioChannels: channels,
      maxVideoChannels: channels,
    };
    return { responses: [createMessage(avAttributesResponse, attributes, edition)] };
  }),
  ...defineHandler(liveStreamRequest, (body, message, terminal) => {
    const { channel, dataType } = body;
    if (!terminal.cameras.hasChannel(channel)) return refuse(message);
    const stream = body.streamType === 0 ? 'main' : 'sub';
    return accept(message, () =>
      terminal.cameras.startLive({ channel, dataType, stream, target: toMediaTarget(body) }),
    );
  }),
  ...defineHandler(liveStreamControl, (body, message, terminal) => {
    const { channel, control, closeType, streamType } = body;
    const kinds = ['live', 'talk'] as const;
    if (kinds.every((kind) => terminal.cameras.findRunning(kind, channel) === undefined)) return refuse(message);
    return accept(message, () => {
      terminal.cameras.controlLive(channel, control, closeType, streamType);
    });
  }),
  ...defineHandler(liveStreamStatus, (_body, message) => accept(message)),
  ...defineHandler(queryResourceList, (body, message, terminal) => {
    const query = { ...toRecordingQuery(body), mediaType: body.mediaType };
    const matching = terminal.recordings.filter((recording) => isQueryMatch(recording, query));
    const acknowledged = terminal.options.listAcknowledged === true ? accept(message).responses : [];
    return { responses: [...acknowledged, ...createListMessages(terminal, message, matching)] };
  }),
  ...defineHandler(playbackRequest, (body, message, terminal) => {
    const { channel, mediaType } = body;
    const { playbackResponse = 'list', zoneMinutes } = terminal.options;
    const mode = playbackModes[body.playbackMode] ?? 'normal';
    const query = toRecordingQuery(body);
    // A request for a single picture states only its time.
    if (mode === 'singleFrame') query.endTime = null;
    const segments = selectSegments(terminal.recordings, query, zoneMinutes);
    const list = createListMessage(
      terminal,
      message,
      segments.map((segment) => segment.recording),
    );
    if (!terminal.cameras.hasChannel(channel)) return refuse(message);
    if (segments.length === 0) return playbackResponse === 'general' ? refuse(message) : { responses: [list] };
    const general = accept(message).responses;
    const responses =
      playbackResponse === 'list' ? [list] : playbackResponse === 'general' ? general : [...general, list];
    const request = {
      channel,
      mode,
      mediaType,
      segments: segments,
      target: toMediaTarget(body),
      speed: toSpeedFactor(body.speed),
    };
    return { responses, afterSend: () => terminal.cameras.startPlayback(request) };
  }),
  ...defineHandler(playbackControl, (body, message, terminal) => {
    const { channel, control } = body;
    const seekTime = toTimeText(body.seekTime);
    if (terminal.cameras.findRunning('history', channel) === undefined) return refuse(message);
    if (control > 6 || (control === 5 && seekTime === null)) return refuse(message, ReplyResult.incorrect);
    const seekMs = seekTime === null ? null : toEpochMs(seekTime, terminal.options.zoneMinutes);
    return accept(message, () => {
      terminal.cameras.controlPlayback(channel, control, toSpeedFactor(body.speed), seekMs);
    });
  }),
  ...defineHandler(fileUploadRequest, (body, message, terminal) => {
    const segments = selectSegments(terminal.recordings, toRecordingQuery(body), terminal.options.zoneMinutes);
    if (segments.length === 0 || terminal.uploads.isBusy || !terminal.cameras.hasChannel(body.channel))
      return refuse(message);
    return accept(message, () => terminal.uploads.start(message.serial, body, segments));
  }),
  ...defineHandler(fileUploadControl, (body, message, terminal) => {
    const action = terminal.uploads.control(body.replySerial, body.control);
    return action === null ? refuse(message) : accept(message, action);
  }),
};
