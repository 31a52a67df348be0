import { isCriticalCommand, partnerCommandNumbers as proNos } from '@fleet/bus';
import { cameraShootResponse, tryDecodeBody } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import type { CommandContext, Deps } from '../deps.ts';
import { toCameraSpan, type UtcOffset } from '../domain/camera-time.ts';
import { assertHostAllowed } from '../domain/media-address.ts';
import { type GeneralResponse, toGeneralResponse, unwrapResponse } from '../domain/outcome.ts';
import { type PartnerCommand, requireTextContent } from '../domain/partner-command.ts';
import { parseContent, parseContentTimestamp, parseParameters } from '../domain/partner-command-contents.ts';
import { controlLive } from './control-live.ts';
import { controlPlayback } from './control-playback.ts';
import { listRecordings } from './list-recordings.ts';
import { requestUpload } from './request-upload.ts';
import { sendCommand } from './send-command.ts';
import { sendControlCommand } from './send-control-command.ts';
import { sendText } from './send-text.ts';
import { startLive } from './start-live.ts';
import { startPlayback } from './start-playback.ts';

/** Response of the device in the names of the Device API. */
export type PartnerCommandResult = { readonly result: string } & Readonly<Record<string, unknown>>;

/** A parsed command: its sender, and its form for the command queue of platform-api (null: it cannot be queued). */
export interface PreparedCommand {
  run(context: CommandContext): Promise<PartnerCommandResult>;
  readonly queueEntry: { readonly type: string; readonly params: Record<string, unknown> } | null;
  /** True if the partner needs the level `critical`; absent for commands that never need it. */
  readonly isCritical?: boolean;
}

type CommandPreparer = (deps: Deps, command: PartnerCommand, offset: UtcOffset) => PreparedCommand;

const toResult = ({ responseId, result }: GeneralResponse): PartnerCommandResult => ({
  response_id: responseId,
  result,
});
const toIsoTime = (timestampMs: number): string => new Date(timestampMs).toISOString();

const prepareText: CommandPreparer = (deps, { imei, content }) => {
  const request = { imei, text: requireTextContent(content), textType: null, options: null };
  return {
    run: async (context) => toResult(await sendText(deps, request, context)),
    queueEntry: { type: 'text', params: { text: request.text } },
    isCritical: isCriticalCommand({ kind: 'sendText', text: request.text }),
  };
};

const prepareParameters: CommandPreparer = (deps, { imei, content }) => {
  const parameters = parseParameters(content);
  return {
    run: async (context) =>
      toResult(toGeneralResponse(await sendCommand(deps, imei, { kind: 'setParameters', parameters }, context))),
    queueEntry: {
      type: 'set_parameters',
      params: { parameters: parameters.map(({ id, valueHex }) => ({ id, value_hex: valueHex })) },
    },
    isCritical: isCriticalCommand({ kind: 'setParameters', parameters }),
  };
};

const prepareControl: CommandPreparer = (deps, { imei, content }) => {
  const { command, parameters = null } = parseContent('control', content);
  return {
    run: async (context) => toResult(await sendControlCommand(deps, { imei, command, parameters }, context)),
    queueEntry: { type: 'control', params: { command, parameters } },
    isCritical: isCriticalCommand({ kind: 'terminalControl', command }),
  };
};

/** Results of 0x0805, JT/T 808-2013 table 84. */
const cameraShootResults = ['success', 'failure', 'unsupported'];

const preparePhoto: CommandPreparer = (deps, { imei, content }) => {
  const { channel, count = 1, interval_seconds = 0, save_flag, ...imageSettings } = parseContent('photo', content);
  const { resolution = 2, quality = 5, brightness = 128, contrast = 64, saturation = 64, chroma = 128 } = imageSettings;
  const image = { resolution, quality, brightness, contrast, saturation, chroma };
  const shotSettings = { channel, count, intervalSeconds: interval_seconds, isStored: save_flag === 1 };
  const isFilm = count === 0xffff;
  const params = { channel, interval_seconds, film: isFilm, count: isFilm ? 1 : count, ...image };
  return {
    run: async (context) => takePictures(deps, imei, { kind: 'takePictures', ...shotSettings, ...image }, context),
    // The queue accepts single pictures and films; storing on the device and stopping are immediate only.
    queueEntry: count === 0 || shotSettings.isStored || (!isFilm && count > 100) ? null : { type: 'capture', params },
  };
};

async function takePictures(
  deps: Deps,
  imei: string,
  command: Parameters<typeof sendCommand>[2],
  context: CommandContext,
): Promise<PartnerCommandResult> {
  const outcome = await sendCommand(deps, imei, command, context);
  const { message } = unwrapResponse(outcome);
  if (message?.id !== cameraShootResponse.id) return toResult(toGeneralResponse(outcome));
  const body = Buffer.from(message.bodyBase64, 'base64');
  const decoded = tryDecodeBody(cameraShootResponse, body, message.edition);
  if (!decoded.ok)
    throw new AppError('upstream_error', `The device's reply could not be read: ${decoded.error.message}.`);
  const { result, multimediaIds = [] } = decoded.body;
  return { response_id: '0x8801', result: cameraShootResults[result] ?? 'failure', multimedia_ids: multimediaIds };
}

const prepareLive: CommandPreparer = (deps, { imei, content }) => {
  const input = parseContent('live', content);
  const { channel, data_type: dataType = 0, stream_type: streamType = 0, host, tcp_port, udp_port } = input;
  const request = { imei, channel, dataType, streamType, host, tcpPort: tcp_port, udpPort: udp_port };
  // A picture taken at some later time is useless.
  return { run: async (context) => toResult(await startLive(deps, request, context)), queueEntry: null };
};

const prepareLiveControl: CommandPreparer = (deps, { imei, content }) => {
  const input = parseContent('liveControl', content);
  const { channel, ctrl_instruction: command, close_stream_type: closeType = 0, stream_type: streamType = 0 } = input;
  const request = { imei, channel, control: command, closeType, streamType };
  return { run: async (context) => toResult(await controlLive(deps, request, context)), queueEntry: null };
};

const preparePlayback: CommandPreparer = (deps, { imei, content }, offset) => {
  const input = parseContent('playback', content);
  const request = {
    imei,
    channel: input.channel,
    startMs: parseContentTimestamp('start_time', input.start_time, offset),
    endMs: parseContentTimestamp('end_time', input.end_time, offset),
    resourceType: input.resource_type ?? 3,
    streamType: input.stream_type ?? 0,
    memoryType: input.memory_type ?? 0,
    host: input.host,
    tcpPort: input.tcp_port,
    udpPort: input.udp_port,
    playbackMode: input.playback_mode ?? 0,
    speed: input.fast_forward_rewind_times ?? 0,
  };
  return { run: async (context) => toResult(await startPlayback(deps, request, context)), queueEntry: null };
};

const preparePlaybackControl: CommandPreparer = (deps, { imei, content }, offset) => {
  const input = parseContent('playbackControl', content);
  const seek = input.drag_playback_time;
  const request = {
    imei,
    channel: input.channel,
    control: input.playback_control,
    speed: input.fast_forward_rewind_times ?? 0,
    // The hub's clients send a time with every control.
    seekMs:
      input.playback_control === 5 && seek !== undefined
        ? parseContentTimestamp('drag_playback_time', seek, offset)
        : undefined,
  };
  return { run: async (context) => toResult(await controlPlayback(deps, request, context)), queueEntry: null };
};

const prepareRecordings: CommandPreparer = (deps, { imei, content }, offset) => {
  const { alarm = 0n, ...input } = parseContent('recordings', content);
  const clip = toClip(input, offset);
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
    queueEntry: { type: 'resource_list', params: toQueuedClip(kind, startMs, endMs, alarm) },
  };
};

const prepareUpload: CommandPreparer = (deps, { imei, requestedImei, content }, offset) => {
  const { alarm = 0n, ...input } = parseContent('upload', content);
  const { startMs, endMs, ...kind } = toClip(input, offset);
  const { channel, resourceType: mediaType, streamType, memoryType: storageType } = kind;
  const clip = { channel, mediaType, streamType, storageType, alarmFlags: String(alarm) };
  const { host, user_name: username, password = '', path = '', conditions = 7 } = input;
  const port = input.port === 0 ? undefined : input.port;
  if (username !== undefined) {
    const { MEDIA_PUBLIC_HOST, DEVICE_HOST_ALLOWLIST } = deps.config;
    if (host === undefined) throw new AppError('validation_failed', 'The field cmdContent: serverAddress is missing.');
    assertHostAllowed(host, { host: MEDIA_PUBLIC_HOST, allowlist: DEVICE_HOST_ALLOWLIST });
    const { startTime, endTime } = toCameraSpan(startMs, endMs, offset);
    const server = { server: host, port: port ?? 21, username, password, path };
    const command = { kind: 'requestUpload', ...server, ...clip, startTime, endTime, conditions } as const;
    return {
      run: async (context) => toResult(toGeneralResponse(await sendCommand(deps, imei, command, context))),
      queueEntry: null,
    };
  }
  const ftpServer = { ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }) };
  const networks = { wifi: (conditions & 1) > 0, lan: (conditions & 2) > 0, mobile_network: (conditions & 4) > 0 };
  return {
    run: async (context) => {
      const request = { imei, requestedImei, startMs, endMs, ...clip, conditions, host, port };
      const { responseId, result, videoId } = await requestUpload(deps, request, context);
      // A clip with an upload is a success.
      const status = result === 'success' ? 'uploading' : result;
      return { response_id: responseId, result: 'success', video_id: videoId, upload_status: status };
    },
    queueEntry: { type: 'upload', params: { ...toQueuedClip(kind, startMs, endMs, alarm), ...ftpServer, ...networks } },
  };
};

interface ClipContent {
  readonly channel: number;
  readonly start_time: string;
  readonly end_time: string;
  readonly resource_type?: number | undefined;
  readonly stream_type?: number | undefined;
  readonly memory_type?: number | undefined;
}

const toClip = (input: ClipContent, offset: UtcOffset) => ({
  channel: input.channel,
  startMs: parseContentTimestamp('start_time', input.start_time, offset),
  endMs: parseContentTimestamp('end_time', input.end_time, offset),
  resourceType: input.resource_type ?? 3,
  streamType: input.stream_type ?? 0,
  memoryType: input.memory_type ?? 0,
});

const toQueuedClip = (
  kind: Omit<ReturnType<typeof toClip>, 'startMs' | 'endMs'>,
  startMs: number,
  endMs: number,
  alarm: bigint,
) => ({
  channel: kind.channel,
  start_time: toIsoTime(startMs),
  end_time: toIsoTime(endMs),
  resource_type: kind.resourceType,
  stream_type: kind.streamType,
  memory_type: kind.memoryType,
  alarm: Number(alarm),
});

/** Use case of each command. */
const preparers: ReadonlyMap<number, CommandPreparer> = new Map([
  [proNos.onlineText, prepareText],
  [proNos.text, prepareText],
  [proNos.setParameters, prepareParameters],
  [proNos.terminalControl, prepareControl],
  [proNos.takePictures, preparePhoto],
  [proNos.startLive, prepareLive],
  [proNos.controlLive, prepareLiveControl],
  [proNos.startPlayback, preparePlayback],
  [proNos.controlPlayback, preparePlaybackControl],
  [proNos.listRecordings, prepareRecordings],
  [proNos.requestUpload, prepareUpload],
]);

/** Commands with times that may be on the camera's clock. */
const commandsWithTimes: ReadonlySet<number> = new Set([
  proNos.startPlayback,
  proNos.controlPlayback,
  proNos.listRecordings,
  proNos.requestUpload,
]);

/**
 * Parses the content of a command; throws 400 for an unknown `proNo` or an invalid content, before anything is sent.
 */
export async function preparePartnerCommand(
  deps: Deps,
  command: PartnerCommand,
  context: CommandContext,
): Promise<PreparedCommand> {
  const { proNo, imei } = command;
  const prepare = preparers.get(proNo);
  if (prepare === undefined)
    throw new AppError('validation_failed', `The field proNo: ${proNo} is not a known command.`);
  const offset = commandsWithTimes.has(proNo) ? await deps.utcOffsets.get(imei, context) : '+00:00';
  return prepare(deps, command, offset);
}
