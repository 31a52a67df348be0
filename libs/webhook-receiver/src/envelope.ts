/** A notification of a vehicle, as in the body of an envelope. */
export interface VehicleNotification {
  readonly title: string;
  readonly description: string;
  /** `sos`, `overspeed`, `geofence` and the like. */
  readonly notification_type: string;
  readonly imei: string;
  /** Event time, milliseconds since 1970. */
  readonly timestamp: number;
  /** Milliseconds since 1970; identifies the notification together with `imei`. */
  readonly server_timestamp: number;
  readonly location: { readonly latitude: number; readonly longitude: number };
  readonly id?: number;
  readonly severity?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
}

/** Body of an envelope. */
export interface WebhookPayload {
  readonly notification: VehicleNotification;
  /** The user that owns the vehicle. */
  readonly user: number;
}

/** Request body that a webhook receives. */
export interface WebhookEnvelope {
  /** Time of the attempt, milliseconds since 1970; differs at each attempt. */
  readonly date: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  /** Bytes of `body`. */
  readonly content_length: number;
  /** JSON, identical at each attempt. */
  readonly body: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
  /** The parsed `body`. */
  readonly payload: WebhookPayload;
}

/**
 * Thrown when the request is not an envelope; `path` names the faulty part: `/content_length`,
 * `/body/notification/imei`.
 */
export class EnvelopeError extends Error {
  override readonly name = 'EnvelopeError';
  readonly path: string;

  constructor(path: string, expected: string, cause?: unknown) {
    super(`${path === '' ? 'the request' : path} must be ${expected}`, cause === undefined ? {} : { cause });
    this.path = path;
  }
}

type Kind = 'string' | 'number';
const text = 'string';
const number = 'number';

const envelopeFields = {
  date: number,
  content_length: number,
  body: text,
  method: text,
  path: text,
  query: text,
} as const satisfies Record<string, Kind>;
const notificationFields = {
  title: text,
  description: text,
  notification_type: text,
  imei: text,
  timestamp: number,
  server_timestamp: number,
} as const satisfies Record<string, Kind>;
const locationFields = { latitude: number, longitude: number } as const satisfies Record<string, Kind>;

/** Parses the body of a request; throws an EnvelopeError that names the fault. Unknown members are ignored. */
export function parseEnvelope(raw: string | Uint8Array): WebhookEnvelope {
  const envelope = requireObject('', parseJson('', typeof raw === 'string' ? raw : Buffer.from(raw).toString('utf8')));
  requireFields('', envelope, envelopeFields);
  const headers = requireObject('/headers', envelope['headers']);
  for (const [name, values] of Object.entries(headers))
    if (!Array.isArray(values) || !values.every((value) => typeof value === 'string'))
      throw new EnvelopeError(`/headers/${name}`, 'an array of strings');
  const { body, content_length } = envelope as unknown as WebhookEnvelope;
  if (Buffer.byteLength(body) !== content_length) throw new EnvelopeError('/content_length', 'the size of the body');
  return { ...(envelope as unknown as WebhookEnvelope), payload: parsePayload(body) };
}

function parsePayload(body: string): WebhookPayload {
  const payload = requireObject('/body', parseJson('/body', body));
  const notification = requireObject('/body/notification', payload['notification']);
  requireFields('/body/notification', notification, notificationFields);
  const location = requireObject('/body/notification/location', notification['location']);
  requireFields('/body/notification/location', location, locationFields);
  requireFields('/body', payload, { user: number });
  return payload as unknown as WebhookPayload;
}

function parseJson(path: string, json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw new EnvelopeError(path, 'JSON', cause);
  }
}

function requireObject(path: string, value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new EnvelopeError(path, 'an object');
  return value as Record<string, unknown>;
}

function requireFields(path: string, value: Record<string, unknown>, fields: Readonly<Record<string, Kind>>): void {
  for (const [name, kind] of Object.entries(fields))
    if (typeof value[name] !== kind) throw new EnvelopeError(`${path}/${name}`, `a ${kind}`);
}
