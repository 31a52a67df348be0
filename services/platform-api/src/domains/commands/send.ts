import {
  BusError,
  type CallOptions,
  callUseCase,
  type DeviceAnswer,
  type DeviceCommand,
  deviceApi,
  type Outcome,
} from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { readDevice } from '@fleet/storage';
import type { Deps } from '../../deps.ts';
import { answerOf } from './answers.ts';
import { type CommandType, type ParamsOf, wireParameter } from './params.ts';
import type { Ending } from './rules.ts';
import type { Command } from './schema.ts';

/** What sending works with. */
export type SendParts = Pick<Deps, 'asker' | 'bus' | 'partnerChannels' | 'redis'>;

/** How an attempt is made. */
export interface Attempt {
  readonly name: string;
  readonly isRepeated: boolean;
  readonly timeoutMs: number;
}

type Result = Omit<Extract<Ending, { kind: 'answered' }>, 'kind'>;

/** A use case takes this much longer to say that a terminal was silent. */
const returnTripMs = 1_000;
const busyRetryMs = 5_000;
const cameraBusyRetryMs = 60_000;

/** Sends a command once and says how that ended; never throws. */
export async function send(parts: SendParts, command: Command, attempt: Attempt): Promise<Ending> {
  try {
    return { kind: 'answered', ...(await sendByType(parts, command, attempt)) };
  } catch (error) {
    return endingOf(error, attempt);
  }
}

/** Where it is asked for again, what keeps device-api from asking the terminal says nothing of the first ask: that one may have reached it. */
function endingOf(error: unknown, { isRepeated }: Attempt): Ending {
  const notAsked = (retryMs: number): Ending => (isRepeated ? { kind: 'unknown' } : { kind: 'notSent', retryMs });
  if (error instanceof BusError) return error.kind === 'noResponders' ? notAsked(busyRetryMs) : { kind: 'unknown' };
  if (!(error instanceof AppError))
    return { kind: 'failed', error: 'internal', message: 'An unexpected error occurred.' };
  switch (error.code) {
    // Gateways say so of the command itself: no frame of it has been written.
    case 'device_not_connected':
    case 'rate_limited':
      return { kind: 'notSent', retryMs: busyRetryMs, isOfDevice: true };
    case 'camera_busy':
    case 'quota_exceeded':
      return notAsked(cameraBusyRetryMs);
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

type Sender<T extends CommandType> = (
  parts: SendParts,
  command: { readonly imei: string; readonly params: ParamsOf<T> },
  attempt: Attempt,
) => Promise<Result>;

function sendByType(parts: SendParts, { type, imei, params }: Command, attempt: Attempt): Promise<Result> {
  const sender = senders[type] as Sender<CommandType>;
  return sender(parts, { imei, params: JSON.parse(params) as ParamsOf<CommandType> }, attempt);
}

const options = ({ name, isRepeated, timeoutMs }: Attempt): CallOptions => ({
  timeoutMs: timeoutMs + returnTripMs,
  correlationId: name,
  command: { id: name, isRepeated },
});

const general = ({ responseId, result }: { responseId: string; result: string }): Result => ({
  result,
  messageId: responseId,
  serial: null,
  answer: null,
});

/** Each type by the use case of device-api that does it; what is none goes to the terminal by itself. */
const senders: { readonly [T in CommandType]: Sender<T> } = {
  control: async ({ bus }, { imei, params }, attempt) => {
    const wanted = { imei, command: params.command, parameters: params.parameters ?? null };
    return general(await callUseCase(bus, deviceApi.sendControlCommand, wanted, options(attempt)));
  },
  text: async ({ bus }, { imei, params: { text, text_type: textType = null, options: shown } }, attempt) => {
    const how =
      shown === undefined
        ? null
        : {
            emergency: shown.emergency,
            displayByTerminal: shown.display_by_terminal,
            tts: shown.tts,
            displayByAdvertisingScreen: shown.display_by_advertising_screen,
            centralNavigationInfo: shown.central_navigation_info,
          };
    return general(
      await callUseCase(bus, deviceApi.sendText, { imei, text, textType, options: how }, options(attempt)),
    );
  },
  wakeup: async ({ bus }, { imei }, attempt) => {
    const { result } = await callUseCase(bus, deviceApi.wakeUp, { imei }, options(attempt));
    return { result, messageId: null, serial: null, answer: null };
  },
  live_start: async ({ bus }, { imei, params }, attempt) => {
    const { channel, data_type: dataType, stream_type: streamType, host, tcp_port, udp_port } = params;
    const where = {
      ...(host === undefined ? {} : { host }),
      ...(tcp_port === undefined ? {} : { tcpPort: tcp_port }),
      ...(udp_port === undefined ? {} : { udpPort: udp_port }),
    };
    const wanted = { imei, channel, dataType, streamType, ...where };
    return general(await callUseCase(bus, deviceApi.startLive, wanted, options(attempt)));
  },
  live_stop: async ({ bus }, { imei, params: { channel, close_type: closeType } }, attempt) => {
    const wanted = { imei, channel, control: 0, closeType, streamType: 0 };
    return general(await callUseCase(bus, deviceApi.controlLive, wanted, options(attempt)));
  },
  upload: async ({ bus }, { imei, params }, attempt) => {
    const { host, port, wifi, lan, mobile_network: mobile } = params;
    const { resourceType: mediaType, memoryType: storageType, ...clip } = clipOf(params);
    const conditions = (wifi ? 1 : 0) | (lan ? 2 : 0) | (mobile ? 4 : 0);
    const server = { ...(host === undefined ? {} : { host }), ...(port === undefined || port === 0 ? {} : { port }) };
    const wanted = { imei, ...clip, mediaType, storageType, conditions, ...server };
    const { responseId, result, videoId } = await callUseCase(bus, deviceApi.requestUpload, wanted, options(attempt));
    // A clip that has an upload already is what was wanted.
    const answer = { video_id: videoId, upload_status: result === 'success' ? 'uploading' : result };
    return { ...general({ responseId, result: 'success' }), answer };
  },
  resource_list: async ({ bus }, { imei, params }, attempt) => {
    const listed = await callUseCase(bus, deviceApi.listRecordings, { imei, ...clipOf(params) }, options(attempt));
    const resources = listed.recordings.map((recording) => ({
      logical_channel_no: recording.channel,
      playback_start_time: recording.startTime,
      playback_end_time: recording.endTime,
      alarm: recording.alarmFlags,
      resource_type: recording.resourceType,
      stream_type: recording.streamType,
      memory_type: recording.memoryType,
      file_size: recording.fileSizeBytes,
    }));
    const answer = { total_resources: resources.length, resources: resources.slice(0, maxShownResources) };
    return { ...general({ responseId: '0x9205', result: 'success' }), answer };
  },
  capture: (parts, { imei, params }, attempt) => {
    const { channel, film, count, interval_seconds: intervalSeconds, ...picture } = params;
    const { resolution, quality, brightness, contrast, saturation, chroma } = picture;
    const look = { resolution, quality, brightness, contrast, saturation, chroma };
    const shot = { channel, count: film ? 0xffff : count, intervalSeconds, isStored: false };
    return ask(parts, imei, { kind: 'takePictures', ...shot, ...look }, attempt);
  },
  set_parameters: (parts, { imei, params }, attempt) =>
    ask(parts, imei, { kind: 'setParameters', parameters: params.parameters.map(wireParameter) }, attempt),
  query_parameters: (parts, { imei, params }, attempt) =>
    ask(parts, imei, { kind: 'queryParameters', parameterIds: params.ids }, attempt),
  query_attributes: (parts, { imei }, attempt) => ask(parts, imei, { kind: 'queryAttributes' }, attempt),
  locate: (parts, { imei }, attempt) => ask(parts, imei, { kind: 'queryLocation' }, attempt),
  vehicle_control: (parts, { imei, params }, attempt) =>
    ask(parts, imei, { kind: 'controlDoors', isLocked: params.doors === 'lock' }, attempt),
  raw: (parts, { imei, params: { message_id: id, body_hex: bodyHex = '' } }, attempt) =>
    ask(parts, imei, { kind: 'raw', messageId: Number(id), bodyHex }, attempt),
};

/** A list is kept with its command: of a very long one, its beginning. */
const maxShownResources = 1_000;

const clipOf = (params: ParamsOf<'resource_list'>) => ({
  channel: params.channel,
  startMs: wholeSeconds(params.start_time),
  endMs: wholeSeconds(params.end_time),
  resourceType: params.resource_type,
  streamType: params.stream_type,
  memoryType: params.memory_type,
  alarmFlags: String(params.alarm),
});

const wholeSeconds = (time: string): number => Math.floor(Date.parse(time) / 1000) * 1000;

/** Asks a terminal itself, for what is no use case of device-api. */
async function ask(parts: SendParts, imei: string, command: DeviceCommand, attempt: Attempt): Promise<Result> {
  const startedAtMs = performance.now();
  const outcome = await parts.asker.ask({
    imei,
    command,
    correlationId: attempt.name,
    name: { id: attempt.name, isRepeated: attempt.isRepeated },
    timeoutMs: attempt.timeoutMs,
    isClaimed: async (claimed) => (await readDevice(parts.redis, claimed)) !== null,
  });
  const timeoutMs = attempt.timeoutMs - (performance.now() - startedAtMs);
  const byPartner = { command, timeoutMs, correlationId: attempt.name };
  // A device without a session may have come in through a partner.
  const other = outcome.kind === 'notConnected' ? await parts.partnerChannels.ask(imei, byPartner) : null;
  const answer = answered(other ?? outcome);
  const shownId = `0x${answer.commandMessageId.toString(16).padStart(4, '0')}`;
  return { messageId: shownId, serial: answer.commandSerialNo, ...answerOf(answer) };
}

function answered(outcome: Outcome): DeviceAnswer {
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
      throw new AppError('unavailable', 'Devices can not be reached at the moment.');
    default:
      return outcome satisfies never;
  }
}
