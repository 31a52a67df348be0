import { isCriticalCommand, partnerCommandNumbers as proNos } from '@fleet/bus';
import { cameraShootResponse, tryDecodeBody } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import type { CommandContext, Deps } from '../deps.ts';
import { cameraSpan, type UtcOffset } from '../domain/camera-time.ts';
import { type Instruction, textOfContent } from '../domain/instruction.ts';
import { momentOf, readContent, readParameters } from '../domain/instruction-contents.ts';
import { checkAllowed } from '../domain/media-address.ts';
import { answerOf, type GeneralAnswer, generalAnswerOf } from '../domain/outcome.ts';
import { askDevice } from './ask-device.ts';
import { controlLive } from './control-live.ts';
import { controlPlayback } from './control-playback.ts';
import { listRecordings } from './list-recordings.ts';
import { requestUpload } from './request-upload.ts';
import { sendControlCommand } from './send-control-command.ts';
import { sendText } from './send-text.ts';
import { startLive } from './start-live.ts';
import { startPlayback } from './start-playback.ts';

/** Response of the device in the names of the Device API. */
export type InstructionResult = { readonly result: string } & Readonly<Record<string, unknown>>;

/** A parsed command: its sender, and its form for the command queue of platform-api (null: it cannot be queued). */
export interface ReadyInstruction {
  run(context: CommandContext): Promise<InstructionResult>;
  readonly queued: { readonly type: string; readonly params: Record<string, unknown> } | null;
  /** True if the partner needs the level `critical`; absent for commands that never need it. */
  readonly isCritical?: boolean;
}

type Maker = (deps: Deps, instruction: Instruction, offset: UtcOffset) => ReadyInstruction;

const shown = ({ responseId, result }: GeneralAnswer): InstructionResult => ({ response_id: responseId, result });
const iso = (instantMs: number): string => new Date(instantMs).toISOString();

const text: Maker = (deps, { imei, content }) => {
  const wanted = { imei, text: textOfContent(content), textType: null, options: null };
  return {
    run: async (context) => shown(await sendText(deps, wanted, context)),
    queued: { type: 'text', params: { text: wanted.text } },
    isCritical: isCriticalCommand({ kind: 'sendText', text: wanted.text }),
  };
};

const setParameters: Maker = (deps, { imei, content }) => {
  const parameters = readParameters(content);
  return {
    run: async (context) =>
      shown(generalAnswerOf(await askDevice(deps, imei, { kind: 'setParameters', parameters }, context))),
    queued: {
      type: 'set_parameters',
      params: { parameters: parameters.map(({ id, valueHex }) => ({ id, value_hex: valueHex })) },
    },
    isCritical: isCriticalCommand({ kind: 'setParameters', parameters }),
  };
};

const control: Maker = (deps, { imei, content }) => {
  const { command, parameters = null } = readContent('control', content);
  return {
    run: async (context) => shown(await sendControlCommand(deps, { imei, command, parameters }, context)),
    queued: { type: 'control', params: { command, parameters } },
    isCritical: isCriticalCommand({ kind: 'terminalControl', command }),
  };
};

/** Results of 0x0805, JT/T 808-2013 table 84. */
const shootResults = ['success', 'failure', 'unsupported'];

const photo: Maker = (deps, { imei, content }) => {
  const { channel, count = 1, interval_seconds = 0, save_flag, ...look } = readContent('photo', content);
  const { resolution = 2, quality = 5, brightness = 128, contrast = 64, saturation = 64, chroma = 128 } = look;
  const shown = { resolution, quality, brightness, contrast, saturation, chroma };
  const shot = { channel, count, intervalSeconds: interval_seconds, isStored: save_flag === 1 };
  const isFilm = count === 0xffff;
  const params = { channel, interval_seconds, film: isFilm, count: isFilm ? 1 : count, ...shown };
  return {
    run: async (context) => shot0805(deps, imei, { kind: 'takePictures', ...shot, ...shown }, context),
    // The queue accepts single pictures and films; storing on the device and stopping are immediate only.
    queued: count === 0 || shot.isStored || (!isFilm && count > 100) ? null : { type: 'capture', params },
  };
};

async function shot0805(
  deps: Deps,
  imei: string,
  command: Parameters<typeof askDevice>[2],
  context: CommandContext,
): Promise<InstructionResult> {
  const outcome = await askDevice(deps, imei, command, context);
  const { message } = answerOf(outcome);
  if (message?.id !== cameraShootResponse.id) return shown(generalAnswerOf(outcome));
  const body = Buffer.from(message.bodyBase64, 'base64');
  const read = tryDecodeBody(cameraShootResponse, body, message.edition);
  if (!read.ok) throw new AppError('upstream_error', `The device's reply could not be read: ${read.error.message}.`);
  const { result, multimediaIds = [] } = read.body;
  return { response_id: '0x8801', result: shootResults[result] ?? 'failure', multimedia_ids: multimediaIds };
}

const live: Maker = (deps, { imei, content }) => {
  const asked = readContent('live', content);
  const { channel, data_type: dataType = 0, stream_type: streamType = 0, host, tcp_port, udp_port } = asked;
  const wanted = { imei, channel, dataType, streamType, host, tcpPort: tcp_port, udpPort: udp_port };
  // A picture taken at some later time is useless.
  return { run: async (context) => shown(await startLive(deps, wanted, context)), queued: null };
};

const liveControl: Maker = (deps, { imei, content }) => {
  const asked = readContent('liveControl', content);
  const { channel, ctrl_instruction: command, close_stream_type: closeType = 0, stream_type: streamType = 0 } = asked;
  const wanted = { imei, channel, control: command, closeType, streamType };
  return { run: async (context) => shown(await controlLive(deps, wanted, context)), queued: null };
};

const playback: Maker = (deps, { imei, content }, offset) => {
  const asked = readContent('playback', content);
  const wanted = {
    imei,
    channel: asked.channel,
    startMs: momentOf('start_time', asked.start_time, offset),
    endMs: momentOf('end_time', asked.end_time, offset),
    resourceType: asked.resource_type ?? 3,
    streamType: asked.stream_type ?? 0,
    memoryType: asked.memory_type ?? 0,
    host: asked.host,
    tcpPort: asked.tcp_port,
    udpPort: asked.udp_port,
    playbackMode: asked.playback_mode ?? 0,
    speed: asked.fast_forward_rewind_times ?? 0,
  };
  return { run: async (context) => shown(await startPlayback(deps, wanted, context)), queued: null };
};

const playbackControl: Maker = (deps, { imei, content }, offset) => {
  const asked = readContent('playbackControl', content);
  const seek = asked.drag_playback_time;
  const wanted = {
    imei,
    channel: asked.channel,
    control: asked.playback_control,
    speed: asked.fast_forward_rewind_times ?? 0,
    // The hub's clients send a time with every control.
    seekMs:
      asked.playback_control === 5 && seek !== undefined ? momentOf('drag_playback_time', seek, offset) : undefined,
  };
  return { run: async (context) => shown(await controlPlayback(deps, wanted, context)), queued: null };
};

const recordings: Maker = (deps, { imei, content }, offset) => {
  const { alarm = 0n, ...asked } = readContent('recordings', content);
  const clip = clipOf(asked, offset);
  const { startMs, endMs, ...kind } = clip;
  return {
    run: async (context) => {
      const listed = (await listRecordings(deps, { imei, ...clip, alarmFlags: alarm }, context)).recordings;
      const resources = listed.map((recording) => ({
        logical_channel_no: recording.channel,
        playback_start_time: recording.startTime,
        playback_end_time: recording.endTime,
        alarm: recording.alarmFlags,
        resource_type: recording.resourceType,
        stream_type: recording.streamType,
        memory_type: recording.memoryType,
        file_size: recording.fileSizeBytes,
      }));
      return { response_id: '0x9205', result: 'success', total_resources: resources.length, resources };
    },
    queued: { type: 'resource_list', params: queuedClip(kind, startMs, endMs, alarm) },
  };
};

const upload: Maker = (deps, { imei, askedImei, content }, offset) => {
  const { alarm = 0n, ...asked } = readContent('upload', content);
  const { startMs, endMs, ...kind } = clipOf(asked, offset);
  const { channel, resourceType: mediaType, streamType, memoryType: storageType } = kind;
  const clip = { channel, mediaType, streamType, storageType, alarmFlags: String(alarm) };
  const { host, user_name: username, password = '', path = '', conditions = 7 } = asked;
  const port = asked.port === 0 ? undefined : asked.port;
  if (username !== undefined) {
    const { MEDIA_PUBLIC_HOST, DEVICE_HOST_ALLOWLIST } = deps.config;
    if (host === undefined) throw new AppError('validation_failed', 'The field cmdContent: serverAddress is missing.');
    checkAllowed(host, { host: MEDIA_PUBLIC_HOST, allowlist: DEVICE_HOST_ALLOWLIST });
    const { startTime, endTime } = cameraSpan(startMs, endMs, offset);
    const server = { server: host, port: port ?? 21, username, password, path };
    const command = { kind: 'requestUpload', ...server, ...clip, startTime, endTime, conditions } as const;
    return {
      run: async (context) => shown(generalAnswerOf(await askDevice(deps, imei, command, context))),
      queued: null,
    };
  }
  const where = { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) };
  const networks = { wifi: (conditions & 1) > 0, lan: (conditions & 2) > 0, mobile_network: (conditions & 4) > 0 };
  return {
    run: async (context) => {
      const wanted = { imei, askedImei, startMs, endMs, ...clip, conditions, host, port };
      const { responseId, result, videoId } = await requestUpload(deps, wanted, context);
      // A clip with an upload is a success.
      const status = result === 'success' ? 'uploading' : result;
      return { response_id: responseId, result: 'success', video_id: videoId, upload_status: status };
    },
    queued: { type: 'upload', params: { ...queuedClip(kind, startMs, endMs, alarm), ...where, ...networks } },
  };
};

interface AskedClip {
  readonly channel: number;
  readonly start_time: string;
  readonly end_time: string;
  readonly resource_type?: number | undefined;
  readonly stream_type?: number | undefined;
  readonly memory_type?: number | undefined;
}

const clipOf = (asked: AskedClip, offset: UtcOffset) => ({
  channel: asked.channel,
  startMs: momentOf('start_time', asked.start_time, offset),
  endMs: momentOf('end_time', asked.end_time, offset),
  resourceType: asked.resource_type ?? 3,
  streamType: asked.stream_type ?? 0,
  memoryType: asked.memory_type ?? 0,
});

const queuedClip = (
  kind: Omit<ReturnType<typeof clipOf>, 'startMs' | 'endMs'>,
  startMs: number,
  endMs: number,
  alarm: bigint,
) => ({
  channel: kind.channel,
  start_time: iso(startMs),
  end_time: iso(endMs),
  resource_type: kind.resourceType,
  stream_type: kind.streamType,
  memory_type: kind.memoryType,
  alarm: Number(alarm),
});

/** Use case of each command. */
const makers: ReadonlyMap<number, Maker> = new Map([
  [proNos.onlineText, text],
  [proNos.text, text],
  [proNos.setParameters, setParameters],
  [proNos.terminalControl, control],
  [proNos.takePictures, photo],
  [proNos.startLive, live],
  [proNos.controlLive, liveControl],
  [proNos.startPlayback, playback],
  [proNos.controlPlayback, playbackControl],
  [proNos.listRecordings, recordings],
  [proNos.requestUpload, upload],
]);

/** Commands with times that may be on the camera's clock. */
const withTimes: ReadonlySet<number> = new Set([
  proNos.startPlayback,
  proNos.controlPlayback,
  proNos.listRecordings,
  proNos.requestUpload,
]);

/**
 * Parses the content of a command; throws 400 for an unknown `proNo` or an invalid content, before anything is sent.
 */
export async function readyInstruction(
  deps: Deps,
  instruction: Instruction,
  context: CommandContext,
): Promise<ReadyInstruction> {
  const { proNo, imei } = instruction;
  const make = makers.get(proNo);
  if (make === undefined) throw new AppError('validation_failed', `The field proNo: there is no command ${proNo}.`);
  const offset = withTimes.has(proNo) ? await deps.clocks.offsetOf(imei, context) : '+00:00';
  return make(deps, instruction, offset);
}
