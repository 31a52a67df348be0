import { type HttpOptions, type HttpReply, send } from './http.ts';
import type { World } from './world.ts';

/** A request of the Device API; the path is below `/api/v1`. */
export interface ApiRequest {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Sends requests to a product as they stand. */
export const apiOf =
  (world: () => World) =>
  (request: string | ApiRequest, options: HttpOptions = {}): Promise<HttpReply> => {
    const { path, ...rest } = typeof request === 'string' ? { path: request } : request;
    return send(world().product.runtime.base_url, `/api/v1${path}`, { ...rest, ...options });
  };

/** Status and body of a JSON answer. */
export const json = (reply: HttpReply): [status: number, body: unknown] => [reply.status, JSON.parse(reply.text)];

/** What a device's answer to a command with this id is shown as. */
export const deviceAnswer = (messageId: number, result = 'success'): [status: number, body: unknown] => [
  200,
  { response_id: `0x${messageId.toString(16)}`, result },
];

/** A span of ten seconds on a camera's clock (UTC+08:00), each index another one. */
export function span(index = 0): { startTime: string; endTime: string; query: string } {
  const at = (seconds: number): string =>
    new Date(Date.UTC(2026, 7, 1, 10) + seconds * 1000).toISOString().slice(0, 19);
  const [startTime, endTime] = [at(index * 10), at(index * 10 + 10)];
  return { startTime, endTime, query: `start_time=${startTime}%2B08:00&end_time=${endTime}%2B08:00` };
}

export interface DeviceCommand {
  /** The endpoint, as interface.md names it. */
  readonly endpoint: string;
  readonly messageId: number;
  readonly request: (imei: string) => ApiRequest;
}

const commandOf = (endpoint: string, messageId: number, query: string, body?: unknown): DeviceCommand => ({
  endpoint,
  messageId,
  request: (imei) => ({
    path: `${endpoint}?imei=${imei}${query}`,
    ...(body === undefined ? {} : { method: 'POST', body }),
  }),
});

/** Id of the query that wakes a terminal with a number of 12 digits. */
const locationQuery = 0x8201;

/** Every request that commands a device by its number, with values that a good terminal with one recording in `span()` accepts. */
export const deviceCommands: readonly DeviceCommand[] = [
  commandOf('/wakeup', locationQuery, ''),
  commandOf('/send-control-command', 0x8105, '', { command: 4 }),
  commandOf('/send-text', 0x8300, '', { text: 'Please call.' }),
  commandOf('/realtime/start-stream', 0x9101, '&channel=1'),
  commandOf('/realtime/control-stream', 0x9102, '&channel=1&ctrl_instruction=2'),
  commandOf('/history/list-videos', 0x9205, `&channel=1&${span().query}`),
  commandOf('/history/start-stream', 0x9201, `&channel=1&${span().query}&resource_type=3&stream_type=1&memory_type=1`),
  commandOf('/history/control-stream', 0x9202, '&channel=1&playback_control=1'),
  commandOf('/videos/upload', 0x9206, `&channel=1&${span().query}`),
];
