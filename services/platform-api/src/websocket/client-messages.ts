import { type LiveEventType, liveEventTypes } from '@fleet/bus';
import { hourMs } from '@fleet/service-kit';

/** Events that a client can subscribe to: those of vehicles, and `device` of terminals without a vehicle. */
const eventTypes = [...liveEventTypes, 'device'] as const;
export type EventType = (typeof eventTypes)[number];

/** Default events of a client. */
export const defaultEvents = ['location', 'status', 'notification'] as const satisfies readonly LiveEventType[];

/** Largest accepted message. */
export const maxMessageBytes = 4 * 1024;
const maxIntervalMs = hourMs;
const maxIdLength = 64;

/** Id of a message, repeated in the response. */
export type MessageId = string | number | null;

/** Events and vehicles of a subscription. */
export interface Selection {
  readonly vehicles: 'all' | readonly number[];
  readonly events: readonly EventType[];
  readonly minIntervalMs: number;
}

/** Longest interval of which a client receives all events in one message. */
const maxBatchMs = 1_000;

/** A valid message of a client. */
export type ClientMessage =
  | {
      readonly type: 'subscribe' | 'unsubscribe';
      readonly id: MessageId;
      readonly selection: Selection;
      /** Absent: unchanged. */
      readonly batchMs?: number;
    }
  | { readonly type: 'ping'; readonly id: MessageId }
  | { readonly type: 'resume'; readonly id: MessageId; readonly since: number };

/** Fault of a message, for `error`. */
interface MessageFault {
  readonly code: 'malformed_json' | 'unknown_type' | 'validation_failed';
  readonly message: string;
  readonly id: MessageId;
}

type Fields = Readonly<Record<string, unknown>>;
type Parsed<T> = { readonly value: T } | { readonly fault: string };

/** Parses a message of a client; never throws. */
export function parseClientMessage(text: string): ClientMessage | { readonly fault: MessageFault } {
  let fields: unknown;
  try {
    fields = JSON.parse(text);
  } catch {
    return { fault: { code: 'malformed_json', message: 'The message is not valid JSON.', id: null } };
  }
  if (!isFields(fields))
    return { fault: { code: 'validation_failed', message: 'A message must be an object with a type.', id: null } };
  const id = parseId(fields['id']);
  const { type } = fields;
  if (type === 'ping') return { type, id };
  if (type === 'resume') {
    const { since } = fields;
    return Number.isSafeInteger(since) && (since as number) >= 0
      ? { type, id, since: since as number }
      : { fault: { code: 'validation_failed', message: 'since must be the id of a notification.', id } };
  }
  if (type === 'subscribe' || type === 'unsubscribe') {
    const read = parseSelection(fields, type);
    if ('fault' in read) return { fault: { code: 'validation_failed', message: read.fault, id } };
    const { batch_ms: batchMs } = fields;
    if (type === 'unsubscribe' || batchMs === undefined) return { type, id, selection: read.value };
    return isBatchInterval(batchMs)
      ? { type, id, selection: read.value, batchMs: Math.round(batchMs) }
      : { fault: { code: 'validation_failed', message: `batch_ms must be a number from 0 to ${maxBatchMs}.`, id } };
  }
  return { fault: { code: 'unknown_type', message: 'type must be subscribe, unsubscribe, ping or resume.', id } };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

// An invalid id is treated as absent: the message itself may be valid.
function parseId(id: unknown): MessageId {
  if (typeof id === 'string') return id.slice(0, maxIdLength);
  return typeof id === 'number' && Number.isFinite(id) ? id : null;
}

/** Defaults: all vehicles; the default events to subscribe, all events to unsubscribe. */
function parseSelection(fields: Fields, type: 'subscribe' | 'unsubscribe'): Parsed<Selection> {
  const { vehicles = 'all', events = type === 'subscribe' ? defaultEvents : eventTypes } = fields;
  const interval = fields['min_interval_ms'] ?? 0;
  if (vehicles !== 'all' && !(Array.isArray(vehicles) && vehicles.every(isRecordId)))
    return { fault: 'vehicles must be "all" or a list of vehicle ids.' };
  if (!Array.isArray(events) || events.length === 0 || !events.every(isEventType))
    return { fault: `events must be a list of ${eventTypes.join(', ')}.` };
  if (typeof interval !== 'number' || !(interval >= 0 && interval <= maxIntervalMs))
    return { fault: `min_interval_ms must be a number from 0 to ${maxIntervalMs}.` };
  const ids = vehicles === 'all' ? vehicles : [...new Set(vehicles as number[])];
  return { value: { vehicles: ids, events: [...new Set(events)], minIntervalMs: Math.round(interval) } };
}

const isBatchInterval = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= maxBatchMs;

const isRecordId = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;

const isEventType = (value: unknown): value is EventType =>
  typeof value === 'string' && (eventTypes as readonly string[]).includes(value);
