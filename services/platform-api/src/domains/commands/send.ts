import {
  BusError,
  callUseCase,
  type DeviceCommand,
  type DeviceResponse,
  deviceApi,
  type Outcome,
  type RequestOptions,
} from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { readDevice } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { formatMessageId, toCommandResult } from './command-result.ts';
import { type CommandType, type ParamsOf, toDeviceParameter } from './params.ts';
import type { AttemptResult } from './rules.ts';
import type { Command } from './schema.ts';

/** Dependencies of sending a command. */
type SendDeps = Pick<Deps, 'commandClient' | 'bus' | 'partnerChannels' | 'redis'>;

/** Options of an attempt. */
export interface AttemptOptions {
  readonly name: string;
  readonly isRepeated: boolean;
  readonly timeoutMs: number;
}

type CommandOutcome = Omit<Extract<AttemptResult, { kind: 'answered' }>, 'kind'>;

/** Extra time that a use case needs to report that a terminal did not respond. */
const roundTripMs = 1_000;
const busyRetryMs = 5_000;
const cameraBusyRetryMs = 60_000;

/** Sends a command once and returns the result. Never throws. */
export async function sendCommand(deps: SendDeps, command: Command, attempt: AttemptOptions): Promise<AttemptResult> {
  try {
    return { kind: 'answered', ...(await sendByType(deps, command, attempt)) };
  } catch (error) {
    return toAttemptResult(error, attempt);
  }
}

/**
 * Converts an error to a result. If a retry fails before device-api sends it, the first request may still have reached
 * the terminal.
 */
function toAttemptResult(error: unknown, { isRepeated }: AttemptOptions): AttemptResult {
  const notSent = (retryMs: number): AttemptResult => (isRepeated ? { kind: 'unknown' } : { kind: 'notSent', retryMs });
  if (error instanceof BusError) return error.kind === 'noResponders' ? notSent(busyRetryMs) : { kind: 'unknown' };
  if (!(error instanceof AppError))
    return { kind: 'failed', error: 'internal', message: 'An unexpected error occurred.' };
  switch (error.code) {
    // Gateways report these errors for the command itself: no frame of it was written.
    case 'device_not_connected':
    case 'rate_limited':
      return { kind: 'notSent', retryMs: busyRetryMs, isOfDevice: true };
    case 'camera_busy':
    case 'quota_exceeded':
      return notSent(cameraBusyRetryMs);
    case 'device_timeout':
      return { kind: 'unanswered' };
    case 'upstream_error':
      return { kind: 'failed', error: 'unreadable', message: error.message };
    case 'unavailable':
    case 'request_timeout':
    case 'internal':
      return { kind: 'unknown' };
    default:
      return { kind: 'failed', error: 'invalid', message: error.message };
  }
}

/** The user who queued a command; none for a command of a partner. */
interface Requester {
  readonly requestedBy?: number;
}

type Sender<T extends CommandType> = (
  deps: SendDeps,
  command: { readonly imei: string; readonly params: ParamsOf<T>; readonly requester: Requester },
  attempt: AttemptOptions,
) => Promise<CommandOutcome>;

function sendByType(deps: SendDeps, command: Command, attempt: AttemptOptions): Promise<CommandOutcome> {
  const { type, imei, params, createdBy, partnerId } = command;
  const requester = partnerId === undefined ? { requestedBy: createdBy } : {};
  const sender = senders[type] as Sender<CommandType>;
  return sender(deps, { imei, params: JSON.parse(params) as ParamsOf<CommandType>, requester }, attempt);
}

const callOptions = ({ name, isRepeated, timeoutMs }: AttemptOptions): RequestOptions => ({
  timeoutMs: timeoutMs + roundTripMs,
  correlationId: name,
  command: { id: name, isRetry: isRepeated },
});

const toGeneralOutcome = ({ responseId, result }: { responseId: string; result: string }): CommandOutcome => ({
  result,
  messageId: responseId,
  serial: null,
  response: null,
});

/** Senders by command type. A type without a use case of device-api is sent to the terminal directly. */
const senders: { readonly [T in CommandType]: Sender<T> } = {
  control: async ({ bus }, { imei, params }, attempt) => {
    const command = { imei, command: params.command, parameters: params.parameters ?? null };
    return toGeneralOutcome(await callUseCase(bus, deviceApi.sendControlCommand, command, callOptions(attempt)));
  },
  text: async ({ bus }, { imei, params: { text, text_type: textType = null, options: display } }, attempt) => {
    const textOptions =
      display === undefined
        ? null
        : {
            emergency: display.emergency,
            displayByTerminal: display.display_by_terminal,
            tts: display.tts,
            displayByAdvertisingScreen: display.display_by_advertising_screen,
            centralNavigationInfo: display.central_navigation_info,
          };
    return toGeneralOutcome(
      await callUseCase(bus, deviceApi.sendText, { imei, text, textType, options: textOptions }, callOptions(attempt)),
    );
  },
  wakeup: async ({ bus }, { imei }, attempt) => {
    const { result } = await callUseCase(bus, deviceApi.wakeUp, { imei }, callOptions(attempt));
    return { result, messageId: null, serial: null, response: null };
  },
  live_start: async ({ bus }, { imei, params }, attempt) => {
    const { channel, data_type: dataType, stream_type: streamType, host, tcp_port, udp_port } = params;
    const target = {
      ...(host === undefined ? {} : { host }),
      ...(tcp_port === undefined ? {} : { tcpPort: tcp_port }),
      ...(udp_port === undefined ? {} : { udpPort: udp_port }),
    };
    const command = { imei, channel, dataType, streamType, ...target };
    return toGeneralOutcome(await callUseCase(bus, deviceApi.startLive, command, callOptions(attempt)));
  },
  live_stop: async ({ bus }, { imei, params: { channel, close_type: closeType } }, attempt) => {
    const command = { imei, channel, control: 0, closeType, streamType: 0 };
    return toGeneralOutcome(await callUseCase(bus, deviceApi.controlLive, command, callOptions(attempt)));
  },
  upload: async ({ bus }, { imei, params, requester }, attempt) => {
    const { host, port, wifi, lan, mobile_network: mobile } = params;
    const { resourceType: mediaType, memoryType: storageType, ...clip } = toClip(params);
    const conditions = (wifi ? 1 : 0) | (lan ? 2 : 0) | (mobile ? 4 : 0);
    const server = { ...(host === undefined ? {} : { host }), ...(port === undefined || port === 0 ? {} : { port }) };
    const command = { imei, ...clip, mediaType, storageType, conditions, ...server, ...requester };
    const { responseId, result, videoId } = await callUseCase(
      bus,
      deviceApi.requestUpload,
      command,
      callOptions(attempt),
    );
    // A clip that already has an upload counts as success.
    const response = { video_id: videoId, upload_status: result === 'success' ? 'uploading' : result };
    return { ...toGeneralOutcome({ responseId, result: 'success' }), response };
  },
  resource_list: async ({ bus }, { imei, params }, attempt) => {
    const recordingList = await callUseCase(
      bus,
      deviceApi.listRecordings,
      { imei, ...toClip(params) },
      callOptions(attempt),
    );
    const resources = recordingList.recordings.map((recording) => ({
      logical_channel_no: recording.channel,
      playback_start_time: recording.startTime,
      playback_end_time: recording.endTime,
      alarm: recording.alarmFlags,
      resource_type: recording.resourceType,
      stream_type: recording.streamType,
      memory_type: recording.memoryType,
      file_size: recording.fileSizeBytes,
    }));
    const response = { total_resources: resources.length, resources: resources.slice(0, maxListedResources) };
    return { ...toGeneralOutcome({ responseId: '0x9205', result: 'success' }), response };
  },
  capture: (deps, { imei, params }, attempt) => {
    const { channel, film, count, interval_seconds: intervalSeconds, ...picture } = params;
    const { resolution, quality, brightness, contrast, saturation, chroma } = picture;
    const imageSettings = { resolution, quality, brightness, contrast, saturation, chroma };
    const shot = { channel, count: film ? 0xffff : count, intervalSeconds, isStored: false };
    return sendToDevice(deps, imei, { kind: 'takePictures', ...shot, ...imageSettings }, attempt);
  },
  set_parameters: (deps, { imei, params }, attempt) =>
    sendToDevice(deps, imei, { kind: 'setParameters', parameters: params.parameters.map(toDeviceParameter) }, attempt),
  query_parameters: (deps, { imei, params }, attempt) =>
    sendToDevice(deps, imei, { kind: 'queryParameters', parameterIds: params.ids }, attempt),
  query_attributes: (deps, { imei }, attempt) => sendToDevice(deps, imei, { kind: 'queryAttributes' }, attempt),
  locate: (deps, { imei }, attempt) => sendToDevice(deps, imei, { kind: 'queryLocation' }, attempt),
  vehicle_control: (deps, { imei, params }, attempt) =>
    sendToDevice(deps, imei, { kind: 'controlDoors', isLocked: params.doors === 'lock' }, attempt),
  raw: (deps, { imei, params: { message_id: id, body_hex: bodyHex = '' } }, attempt) =>
    sendToDevice(deps, imei, { kind: 'raw', messageId: Number(id), bodyHex }, attempt),
};

/** Limit of the recordings stored with a command. A longer list is truncated. */
const maxListedResources = 1_000;

const toClip = (params: ParamsOf<'resource_list'>) => ({
  channel: params.channel,
  startMs: truncateToSeconds(params.start_time),
  endMs: truncateToSeconds(params.end_time),
  resourceType: params.resource_type,
  streamType: params.stream_type,
  memoryType: params.memory_type,
  alarmFlags: String(params.alarm),
});

const truncateToSeconds = (time: string): number => Math.floor(Date.parse(time) / 1000) * 1000;

/** Sends a command to a terminal directly, for types without a use case of device-api. */
async function sendToDevice(
  deps: SendDeps,
  imei: string,
  command: DeviceCommand,
  attempt: AttemptOptions,
): Promise<CommandOutcome> {
  const startedAtMs = performance.now();
  const outcome = await deps.commandClient.send({
    imei,
    command,
    correlationId: attempt.name,
    identity: { id: attempt.name, isRetry: attempt.isRepeated },
    timeoutMs: attempt.timeoutMs,
    isClaimed: async (claimed) => (await readDevice(deps.redis, claimed)) !== null,
  });
  const timeoutMs = attempt.timeoutMs - (performance.now() - startedAtMs);
  const partnerRequest = { command, timeoutMs, correlationId: attempt.name };
  // A device without a session may be connected through a partner.
  const partnerOutcome = outcome.kind === 'notConnected' ? await deps.partnerChannels.send(imei, partnerRequest) : null;
  const response = unwrapOutcome(partnerOutcome ?? outcome);
  const messageId = formatMessageId(response.commandMessageId);
  return { messageId, serial: response.commandSerialNo, ...toCommandResult(response) };
}

function unwrapOutcome(outcome: Outcome): DeviceResponse {
  switch (outcome.kind) {
    case 'answered':
      return outcome.answer;
    case 'notConnected':
      throw new AppError('device_not_connected', 'The device is not connected.');
    case 'timedOut':
      throw new AppError('device_timeout', 'The device did not reply in time.');
    case 'unreadable':
      throw new AppError('upstream_error', `The device's reply could not be read: ${outcome.detail}`);
    case 'refused':
      if (outcome.isOurFault === true) throw new AppError('internal', 'An unexpected error occurred.');
      throw new AppError('validation_failed', `The command does not fit this device: ${outcome.detail}`);
    case 'busy':
      throw new AppError('rate_limited', `The device is busy: ${outcome.detail}`);
    case 'brokerAway':
      throw new AppError('unavailable', 'Devices are temporarily unavailable. Retry later.');
    default:
      return outcome satisfies never;
  }
}
