import type { ProductHarness } from './harness.ts';
import { type HttpOptions, type HttpReply, send } from './http.ts';

/** A request of the Device API; the path is relative to `/api/v1`. */
export interface ApiRequest {
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
}

/** Returns a function that sends requests to a product unchanged. */
export const createApiSender =
  (harness: () => ProductHarness) =>
  (request: string | ApiRequest, options: HttpOptions = {}): Promise<HttpReply> => {
    const { path, ...rest } = typeof request === 'string' ? { path: request } : request;
    return send(harness().product.runtime.base_url, `/api/v1${path}`, { ...rest, ...options });
  };

/** Returns status and body of a JSON response. */
export const parseReply = (reply: HttpReply): [status: number, body: unknown] => [reply.status, JSON.parse(reply.text)];

/** Returns the response for a device's reply to the command with this id. */
export const toDeviceResponse = (messageId: number, result = 'success'): [status: number, body: unknown] => [
  200,
  { response_id: `0x${messageId.toString(16)}`, result },
];

/** Returns a span of ten seconds on a camera's clock (UTC+08:00), a different one for each index. */
export function span(index = 0): { startTime: string; endTime: string; query: string } {
  const formatTime = (seconds: number): string =>
    new Date(Date.UTC(2026, 7, 1, 10) + seconds * 1000).toISOString().slice(0, 19);
  const [startTime, endTime] = [formatTime(index * 10), formatTime(index * 10 + 10)];
  return { startTime, endTime, query: `start_time=${startTime}%2B08:00&end_time=${endTime}%2B08:00` };
}

interface DeviceCommand {
  /** Endpoint as named in interface.md. */
  readonly endpoint: string;
  readonly messageId: number;
  readonly request: (imei: string) => ApiRequest;
}

const createCommand = (endpoint: string, messageId: number, query: string, body?: unknown): DeviceCommand => ({
  endpoint,
  messageId,
  request: (imei) => ({
    path: `${endpoint}?imei=${imei}${query}`,
    ...(body === undefined ? {} : { method: 'POST', body }),
  }),
});

/** Id of the query that wakes a terminal with a number of 12 digits. */
const locationQuery = 0x8201;

/**
 * Every request that commands a device by its number, with values that a regular terminal with one recording in
 * `span()` accepts.
 */
export const deviceCommands: readonly DeviceCommand[] = [
  createCommand('/wakeup', locationQuery, ''),
  createCommand('/send-control-command', 0x8105, '', { command: 4 }),
  createCommand('/send-text', 0x8300, '', { text: 'Please call.' }),
  createCommand('/realtime/start-stream', 0x9101, '&channel=1'),
  createCommand('/realtime/control-stream', 0x9102, '&channel=1&ctrl_instruction=2'),
  createCommand('/history/list-videos', 0x9205, `&channel=1&${span().query}`),
  createCommand(
    '/history/start-stream',
    0x9201,
    `&channel=1&${span().query}&resource_type=3&stream_type=1&memory_type=1`,
  ),
  createCommand('/history/control-stream', 0x9202, '&channel=1&playback_control=1'),
  createCommand('/videos/upload', 0x9206, `&channel=1&${span().query}`),
];
