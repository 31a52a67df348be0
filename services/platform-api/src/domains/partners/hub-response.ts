import type { DeviceCommand, Outcome } from '@fleet/bus';
import { partnerCodes } from '@fleet/bus';
import { encodeBody, resourceList } from '@fleet/jt808';

/** A response of a hub. */
export interface HubResponse {
  readonly code: number;
  readonly msg: string;
  readonly data: unknown;
}

const toLengthResponse = 200;

/** Parses `{ code, msg, data }`; returns null for anything else. Hubs write the code as a number or in digits. */
export function parseHubResponse(text: string): HubResponse | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Not JSON, so not a hub's response.
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { code, msg, data } = value as Record<string, unknown>;
  const number = numberOf(code);
  if (number === null) return null;
  return { code: number, msg: typeof msg === 'string' ? msg : '', data };
}

function numberOf(code: unknown): number | null {
  if (typeof code === 'number' && Number.isInteger(code)) return code;
  return typeof code === 'string' && /^-?\d{1,9}$/.test(code) ? Number(code) : null;
}

/** Codes within `data` of the vendor's hub, which may return 0 for a command that has not reached its device. */
const innerCodes = { success: 100, offline: 300, notRegistered: 301, timedOut: 600 } as const;

/** Maps a hub's response to the outcome of a command. */
export function toOutcome(response: HubResponse, command: DeviceCommand, messageId: number): Outcome {
  const { code, data } = response;
  if (code === partnerCodes.offline) return { kind: 'notConnected' };
  if (code === partnerCodes.timedOut) return { kind: 'timedOut' };
  const inner = numberOf((data as { _code?: unknown } | null | undefined)?._code);
  if (code !== partnerCodes.success) return failed(response, code);
  if (inner === innerCodes.offline || inner === innerCodes.notRegistered) return { kind: 'notConnected' };
  if (inner === innerCodes.timedOut) return { kind: 'timedOut' };
  if (inner !== null && inner !== innerCodes.success) return failed(response, inner);
  return toResponseOutcome(response, command, messageId);
}

const failed = ({ msg }: HubResponse, code: number): Outcome => ({
  kind: 'unreadable',
  detail: `the partner's server returned code ${code}${msg === '' ? '' : ` (${msg.slice(0, toLengthResponse)})`}`,
});

/** A device behind a hub has no serial numbers of this platform. */
const noSerialNo = 0;

function toResponseOutcome({ data }: HubResponse, command: DeviceCommand, commandMessageId: number): Outcome {
  const response = { commandMessageId, commandSerialNo: noSerialNo, result: 0, message: null };
  if (command.kind !== 'listRecordings') return { kind: 'answered', answer: response };
  const body = recordingsIn(data);
  // The vendor's hub sends the list later, to an address of its own customers.
  if (body === null) return { kind: 'unreadable', detail: "the partner's server returned no list" };
  const message = { id: resourceList.id, edition: '2019', bodyBase64: body.toString('base64') } as const;
  return { kind: 'answered', answer: { ...response, result: null, message } };
}

/** Converts recordings in the format of the Device API (`data.resources`) to the 0x1205 that a terminal would send. */
function recordingsIn(data: unknown): Buffer | null {
  const resources = (data as { resources?: unknown } | null | undefined)?.resources;
  if (!Array.isArray(resources)) return null;
  try {
    const items = resources.map((each: unknown) => itemOf(each as Record<string, unknown>));
    return encodeBody(resourceList, { replySerial: noSerialNo, total: items.length, items }, '2019');
  } catch {
    // An entry that no terminal could send makes the list invalid.
    return null;
  }
}

function itemOf(resource: Record<string, unknown>) {
  const number = (name: string): number => Number(resource[name]);
  const { alarm = 0 } = resource;
  return {
    channel: number('logical_channel_no'),
    // Times are in the camera's local time, whatever the offset.
    startTime: String(resource['playback_start_time']).slice(0, 19),
    endTime: String(resource['playback_end_time']).slice(0, 19),
    alarmFlags: BigInt(typeof alarm === 'string' ? alarm : Number(alarm)),
    mediaType: number('resource_type'),
    streamType: number('stream_type'),
    storageType: number('memory_type'),
    fileSize: number('file_size'),
  };
}
