import {
  type BadQueries,
  badAlarms,
  badFlags,
  badHosts,
  badImeis,
  badNumber,
  badTimes,
  badVideoIds,
} from './bad-parameters.ts';
import type { ApiRequest } from './device-api.ts';

interface Parameter {
  readonly name: string;
  readonly isRequired: boolean;
  /** As it stands in a query; undefined where the tests say it. */
  readonly good: string;
  readonly bad: BadQueries;
}

/** An endpoint of the Device API with all that stands in its query. */
export interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body?: unknown;
}

const needed = (name: string, good: string, bad: BadQueries): Parameter => ({ name, isRequired: true, good, bad });
const optional = (name: string, good: string, bad: BadQueries): Parameter => ({ name, isRequired: false, good, bad });

const imei = (value: string): Parameter => needed('imei', value, badImeis);
const channel = needed('channel', '1', badNumber('channel', 255));
const times = [
  needed('start_time', '2026-08-01T10:00:00Z', badTimes('start_time')),
  needed('end_time', '2026-08-01T11:00:00Z', badTimes('end_time')),
];
const port = (name: string): Parameter => optional(name, '9000', badNumber(name, 65_535));
const mediaServer = [optional('host', '127.0.0.1', badHosts), port('tcp_port'), port('udp_port')];
const resourceType = badNumber('resource_type', 3);
const speed = optional('fast_forward_rewind_times', '1', badNumber('fast_forward_rewind_times', 5));
const filter = [
  optional('resource_type', '3', resourceType),
  optional('stream_type', '0', badNumber('stream_type', 2)),
  optional('memory_type', '0', badNumber('memory_type', 2)),
  optional('alarm', '0', badAlarms),
];
const playback = [
  optional('audio', 'aac', [
    ['an unknown audio', 'audio=mp3'],
    ['a blank audio', 'audio='],
    ['two audios', 'audio=aac&audio=aac'],
  ]),
  optional('hevc', 'enhanced', [['an unknown hevc', 'hevc=1']]),
];
const videoId = needed('video_id', 'a'.repeat(24), badVideoIds);

const get = (path: string, ...parameters: Parameter[]): Endpoint => ({ method: 'GET', path, parameters });

/** Every endpoint of interface.md that takes parameters, about one device. */
export const endpointsOf = (phone: string): readonly Endpoint[] => [
  get('/health/camera', imei(phone), channel),
  get('/health/device', imei(phone)),
  { method: 'POST', path: '/send-control-command', parameters: [imei(phone)], body: { command: 4 } },
  { method: 'POST', path: '/send-text', parameters: [imei(phone)], body: { text: 'x' } },
  get('/wakeup', imei(phone)),
  get(
    '/realtime/start-stream',
    imei(phone),
    channel,
    ...mediaServer,
    optional('data_type', '0', badNumber('data_type', 5)),
    optional('stream_type', '0', badNumber('stream_type', 1)),
  ),
  get('/realtime/stream.flv', imei(phone), channel, ...playback),
  get(
    '/realtime/control-stream',
    imei(phone),
    channel,
    needed('ctrl_instruction', '2', badNumber('ctrl_instruction', 4)),
    optional('close_stream_type', '0', badNumber('close_stream_type', 2)),
    optional('stream_type', '0', badNumber('stream_type', 1)),
  ),
  get('/history/list-videos', imei(phone), channel, ...times, ...filter),
  get(
    '/history/start-stream',
    imei(phone),
    channel,
    ...times,
    needed('resource_type', '3', resourceType),
    needed('stream_type', '1', badNumber('stream_type', 2, [0])),
    needed('memory_type', '1', badNumber('memory_type', 2, [0])),
    ...mediaServer,
    optional('playback_mode', '0', badNumber('playback_mode', 4)),
    speed,
  ),
  get('/history/stream.flv', imei(phone), channel, ...playback),
  get(
    '/history/control-stream',
    imei(phone),
    channel,
    needed('playback_control', '1', badNumber('playback_control', 6)),
    speed,
    optional('drag_playback_time', '2026-08-01T10:00:00Z', badTimes('drag_playback_time')),
  ),
  get(
    '/videos/upload',
    imei(phone),
    channel,
    ...times,
    optional('host', '127.0.0.1', badHosts),
    port('port'),
    ...filter,
    ...['wifi', 'lan', 'mobile_network'].map((name) => optional(name, 'true', badFlags(name))),
  ),
  get('/videos', videoId),
  { method: 'DELETE', path: '/videos', parameters: [videoId] },
  get('/videos/control', videoId, needed('action', '0', badNumber('action', 2))),
  get('/videos/list', imei(phone), optional('channel', '1', badNumber('channel', 255))),
];

/** A request with all that is required, and more or other parameters. */
export function requestOf(endpoint: Endpoint, change: { without: string; query?: string }): ApiRequest {
  const { method, path, parameters, body } = endpoint;
  const kept = parameters.filter(({ name, isRequired }) => isRequired && name !== change.without);
  const query = [...kept.map(({ name, good }) => `${name}=${good}`), change.query ?? ''].filter(Boolean).join('&');
  return { method, path: `${path}?${query}`, body };
}
