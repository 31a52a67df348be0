import type { ApiRequest } from './device-api.ts';
import {
  type InvalidQueries,
  invalidAlarms,
  invalidFlags,
  invalidHosts,
  invalidImeis,
  invalidNumber,
  invalidTimes,
  invalidVideoIds,
} from './invalid-parameters.ts';

interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  /** Value in a query; undefined for `imei`, which the tests set. */
  readonly validValue: string;
  readonly invalidQueries: InvalidQueries;
}

/** An endpoint of the Device API with all its query parameters. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: unknown;
}

const requiredParameter = (name: string, validValue: string, invalidQueries: InvalidQueries): Parameter => ({
  name,
  isRequired: true,
  validValue,
  invalidQueries,
});
const optionalParameter = (name: string, validValue: string, invalidQueries: InvalidQueries): Parameter => ({
  name,
  isRequired: false,
  validValue,
  invalidQueries,
});

const imeiParameter = (value: string): Parameter => requiredParameter('imei', value, invalidImeis);
const channel = requiredParameter('channel', '1', invalidNumber('channel', 255));
const times = [
  requiredParameter('start_time', '2026-08-01T10:00:00Z', invalidTimes('start_time')),
  requiredParameter('end_time', '2026-08-01T11:00:00Z', invalidTimes('end_time')),
];
const portParameter = (name: string): Parameter => optionalParameter(name, '9000', invalidNumber(name, 65_535));
const mediaServer = [
  optionalParameter('host', '127.0.0.1', invalidHosts),
  portParameter('tcp_port'),
  portParameter('udp_port'),
];
const resourceType = invalidNumber('resource_type', 3);
const speed = optionalParameter('fast_forward_rewind_times', '1', invalidNumber('fast_forward_rewind_times', 5));
const filter = [
  optionalParameter('resource_type', '3', resourceType),
  optionalParameter('stream_type', '0', invalidNumber('stream_type', 2)),
  optionalParameter('memory_type', '0', invalidNumber('memory_type', 2)),
  optionalParameter('alarm', '0', invalidAlarms),
];
const playback = [
  optionalParameter('audio', 'aac', [
    ['an unknown audio', 'audio=mp3'],
    ['an empty audio', 'audio='],
    ['two audios', 'audio=aac&audio=aac'],
  ]),
  optionalParameter('hevc', 'enhanced', [['an unknown hevc', 'hevc=1']]),
];
const videoId = requiredParameter('video_id', 'a'.repeat(24), invalidVideoIds);

const getEndpoint = (path: string, ...parameters: Parameter[]): Endpoint => ({ method: 'GET', path, parameters });

/** Returns every endpoint of interface.md that has parameters, for one device. */
export const listEndpoints = (phone: string): readonly Endpoint[] => [
  getEndpoint('/health/camera', imeiParameter(phone), channel),
  getEndpoint('/health/device', imeiParameter(phone)),
  { method: 'POST', path: '/send-control-command', parameters: [imeiParameter(phone)], body: { command: 4 } },
  { method: 'POST', path: '/send-text', parameters: [imeiParameter(phone)], body: { text: 'x' } },
  getEndpoint('/wakeup', imeiParameter(phone)),
  getEndpoint(
    '/realtime/start-stream',
    imeiParameter(phone),
    channel,
    ...mediaServer,
    optionalParameter('data_type', '0', invalidNumber('data_type', 5)),
    optionalParameter('stream_type', '0', invalidNumber('stream_type', 1)),
  ),
  getEndpoint('/realtime/stream.flv', imeiParameter(phone), channel, ...playback),
  getEndpoint(
    '/realtime/control-stream',
    imeiParameter(phone),
    channel,
    requiredParameter('ctrl_instruction', '2', invalidNumber('ctrl_instruction', 4)),
    optionalParameter('close_stream_type', '0', invalidNumber('close_stream_type', 2)),
    optionalParameter('stream_type', '0', invalidNumber('stream_type', 1)),
  ),
  getEndpoint('/history/list-videos', imeiParameter(phone), channel, ...times, ...filter),
  getEndpoint(
    '/history/start-stream',
    imeiParameter(phone),
    channel,
    ...times,
    requiredParameter('resource_type', '3', resourceType),
    requiredParameter('stream_type', '1', invalidNumber('stream_type', 2, [0])),
    requiredParameter('memory_type', '1', invalidNumber('memory_type', 2, [0])),
    ...mediaServer,
    optionalParameter('playback_mode', '0', invalidNumber('playback_mode', 4)),
    speed,
  ),
  getEndpoint('/history/stream.flv', imeiParameter(phone), channel, ...playback),
  getEndpoint(
    '/history/control-stream',
    imeiParameter(phone),
    channel,
    requiredParameter('playback_control', '1', invalidNumber('playback_control', 6)),
    speed,
    optionalParameter('drag_playback_time', '2026-08-01T10:00:00Z', invalidTimes('drag_playback_time')),
  ),
  getEndpoint(
    '/videos/upload',
    imeiParameter(phone),
    channel,
    ...times,
    optionalParameter('host', '127.0.0.1', invalidHosts),
    portParameter('port'),
    ...filter,
    ...['wifi', 'lan', 'mobile_network'].map((name) => optionalParameter(name, 'true', invalidFlags(name))),
  ),
  getEndpoint('/videos', videoId),
  { method: 'DELETE', path: '/videos', parameters: [videoId] },
  getEndpoint('/videos/control', videoId, requiredParameter('action', '0', invalidNumber('action', 2))),
  getEndpoint('/videos/list', imeiParameter(phone), optionalParameter('channel', '1', invalidNumber('channel', 255))),
];

/** Builds a request with all required parameters, and more or other parameters. */
export function buildRequest(endpoint: Endpoint, change: { without: string; query?: string }): ApiRequest {
  const { method, path, parameters, body } = endpoint;
  const included = parameters.filter(({ name, isRequired }) => isRequired && name !== change.without);
  const query = [...included.map(({ name, validValue }) => `${name}=${validValue}`), change.query ?? '']
    .filter(Boolean)
    .join('&');
  return { method, path: `${path}?${query}`, body };
}
