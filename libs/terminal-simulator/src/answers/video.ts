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
import { epochOf } from '../camera-clock.ts';
import type { PlatformMessage } from '../frame-log.ts';
import { audioForm } from '../media/audio-frames.ts';
import type { MediaTarget } from '../media/media-link.ts';
import type { PlaybackMode } from '../media/playback-stream.ts';
import { matchesQuery, type Recording, type RecordingQuery, stretchesOf } from '../recordings.ts';
import type { TerminalMessage } from '../terminal-options.ts';
import {
  accept,
  type Handler,
  type Handlers,
  handle,
  messageOf,
  refuse,
  type TerminalContext,
  timeText,
} from './answering.ts';

const MODES: readonly PlaybackMode[] = ['normal', 'fastForward', 'keyFrameRewind', 'keyFrames', 'singleFrame'];

/** Speeds 1 to 5 of JT/T 1078-2016 tables 24 and 25 are 1 to 16 times. */
const speedFactor = (speed: number): number => (speed >= 1 && speed <= 5 ? 2 ** (speed - 1) : 1);

const targetOf = (body: { serverIp: string; tcpPort: number; udpPort: number }): MediaTarget => ({
  host: body.serverIp,
  tcpPort: body.tcpPort,
  udpPort: body.udpPort,
});

/** Fields that 0x9205, 0x9201 and 0x9206 share, as a query of the disk. */
function queryOf(body: {
  channel: number;
  startTime: Parameters<typeof timeText>[0];
  endTime: Parameters<typeof timeText>[0];
  alarmFlags?: bigint;
  mediaType: number;
  streamType: number;
  storageType: number;
}): RecordingQuery {
  const { channel, alarmFlags = 0n, streamType, storageType } = body;
  // Asked for sound and picture, a terminal also takes recordings that have no sound.
  const mediaType = body.mediaType === 0 ? 3 : body.mediaType;
  const window = { startTime: timeText(body.startTime), endTime: timeText(body.endTime) };
  return { channel, alarmFlags, mediaType, streamType, storageType, ...window };
}

function listMessage(terminal: TerminalContext, message: PlatformMessage, recordings: readonly Recording[]) {
  const items = recordings.map(({ fileSizeBytes, ...recording }) => ({ ...recording, fileSize: fileSizeBytes }));
  return messageOf(resourceList, { replySerial: message.serial, items }, terminal.options.edition);
}

/** Where the total stands in 0x1205, behind the reply serial. */
const TOTAL_OFFSET = 2;

/** 0x1205 in as many messages, with as wrong a total, as the options say. */
function listMessages(
  terminal: TerminalContext,
  message: PlatformMessage,
  recordings: readonly Recording[],
): TerminalMessage[] {
  const { listItemsPerMessage = Number.POSITIVE_INFINITY, listMissingItems = 0, listLostParts } = terminal.options;
  const messages: TerminalMessage[] = [];
  for (let at = 0; at < Math.max(1, recordings.length); at += listItemsPerMessage) {
    const one = listMessage(terminal, message, recordings.slice(at, at + listItemsPerMessage));
    one.body.writeUInt32BE(recordings.length + listMissingItems, TOTAL_OFFSET);
    messages.push(at === 0 ? { ...one, lostParts: listLostParts } : one);
  }
  return messages;
}

const acceptOnly: Handler = (message) => accept(message);

/** JT/T 1078 signalling. */
export const videoHandlers: Handlers = {
  // PTZ: the simulated cameras have no motor, but take the command as real fixed ones do.
  ...Object.fromEntries([0x9301, 0x9302, 0x9303, 0x9304, 0x9305, 0x9306].map((messageId) => [messageId, acceptOnly])),
  ...handle(queryAvAttributes, (_body, _message, terminal) => {
    const { camera, channels, edition } = terminal.options;
    const {
      payloadType = PayloadType.G711A,
      channels: audioChannels = 1,
      sampleRate = 8000,
    } = audioForm(camera.audio) ?? {};
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
    return { answers: [messageOf(avAttributesResponse, attributes, edition)] };
  }),
  ...handle(liveStreamRequest, (body, message, terminal) => {
    const { channel, dataType } = body;
    if (!terminal.cameras.has(channel)) return refuse(message);
    const stream = body.streamType === 0 ? 'main' : 'sub';
    return accept(message, () => terminal.cameras.startLive({ channel, dataType, stream, target: targetOf(body) }));
  }),
  ...handle(liveStreamControl, (body, message, terminal) => {
    const { channel, control, closeType, streamType } = body;
    if (terminal.cameras.running('live', channel) === undefined) return refuse(message);
    return accept(message, () => {
      terminal.cameras.controlLive(channel, control, closeType, streamType);
    });
  }),
  ...handle(liveStreamStatus, (_body, message) => accept(message)),
  ...handle(queryResourceList, (body, message, terminal) => {
    const query = { ...queryOf(body), mediaType: body.mediaType };
    const found = terminal.recordings.filter((recording) => matchesQuery(recording, query));
    const acknowledged = terminal.options.listAcknowledged === true ? accept(message).answers : [];
    return { answers: [...acknowledged, ...listMessages(terminal, message, found)] };
  }),
  ...handle(playbackRequest, (body, message, terminal) => {
    const { channel, mediaType } = body;
    const { playbackAnswer = 'list', zoneMinutes } = terminal.options;
    const mode = MODES[body.playbackMode] ?? 'normal';
    const query = queryOf(body);
    // A single picture is asked for by its instant alone.
    if (mode === 'singleFrame') query.endTime = null;
    const stretches = stretchesOf(terminal.recordings, query, zoneMinutes);
    const list = listMessage(
      terminal,
      message,
      stretches.map((stretch) => stretch.recording),
    );
    if (!terminal.cameras.has(channel)) return refuse(message);
    if (stretches.length === 0) return playbackAnswer === 'general' ? refuse(message) : { answers: [list] };
    const general = accept(message).answers;
    const answers = playbackAnswer === 'list' ? [list] : playbackAnswer === 'general' ? general : [...general, list];
    const request = { channel, mode, mediaType, stretches, target: targetOf(body), speed: speedFactor(body.speed) };
    return { answers, after: () => terminal.cameras.startPlayback(request) };
  }),
  ...handle(playbackControl, (body, message, terminal) => {
    const { channel, control } = body;
    const seekTime = timeText(body.seekTime);
    if (terminal.cameras.running('history', channel) === undefined) return refuse(message);
    if (control > 6 || (control === 5 && seekTime === null)) return refuse(message, ReplyResult.incorrect);
    const seekMs = seekTime === null ? null : epochOf(seekTime, terminal.options.zoneMinutes);
    return accept(message, () => {
      terminal.cameras.controlPlayback(channel, control, speedFactor(body.speed), seekMs);
    });
  }),
  ...handle(fileUploadRequest, (body, message, terminal) => {
    const stretches = stretchesOf(terminal.recordings, queryOf(body), terminal.options.zoneMinutes);
    if (stretches.length === 0 || terminal.uploads.isBusy || !terminal.cameras.has(body.channel))
      return refuse(message);
    return accept(message, () => terminal.uploads.start(message.serial, body, stretches));
  }),
  ...handle(fileUploadControl, (body, message, terminal) => {
    const done = terminal.uploads.control(body.replySerial, body.control);
    return done === null ? refuse(message) : accept(message, done);
  }),
};
