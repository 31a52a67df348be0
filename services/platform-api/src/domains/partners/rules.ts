import { createHash, randomBytes } from 'node:crypto';
import type { PartnerHeartbeat, PartnerPosition } from '@fleet/bus';
import { terminalKey } from '@fleet/jt808';
import type { AppError } from '@fleet/service-kit';

/**
 * Creates a token: `pt_` and 43 base64url characters. These are 256 random bits, so a plain SHA-256 is enough at rest.
 */
export const newToken = (): string => `pt_${randomBytes(32).toString('base64url')}`;

export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Returns the purpose that binds the sealed token to its account. */
export const commandTokenPurpose = (accountId: number): string => `partner command token of account ${accountId}`;

/**
 * Returns true if a partner may command a device. The recorded number is checked, not the number as the partner writes
 * it.
 */
export const mayCommand = (prefixes: readonly string[], imei: string, recordedImei: string): boolean =>
  prefixes.length === 0 || prefixes.some((prefix) => recordedImei.startsWith(prefix) || imei.startsWith(prefix));

/** Error codes of the vendor hub. */
export const vendorCodes = { success: 0, parameters: 1001, token: 1004, tooOften: 1006 } as const;

function toVendorCode({ status }: AppError): number {
  if (status === 401 || status === 403) return vendorCodes.token;
  if (status === 429) return vendorCodes.tooOften;
  return status < 500 ? vendorCodes.parameters : status;
}

/** Formats an error for clients of the vendor hub, with the fields of this API beside theirs. */
export const toVendorError = (error: AppError, requestId: string) => ({
  code: toVendorCode(error),
  message: error.message,
  status: error.status,
  error: error.message,
  request_id: requestId,
  ...(error.details.length === 0 ? {} : { details: error.details }),
});

/** Largest number of items in a push (docs/reference/conventions.md). */
export const maxItems = 500;
const maxAheadMs = 600_000;
/** Earliest valid time: there were no satellites, and so no receiver times, before 1980. */
const earliestTimeMs = Date.UTC(1980, 0, 6);

/** A parsed item, or the reason of its rejection. */
export type ParsedItem<T> = { readonly imei: string; readonly recordedImei: string; readonly value: T } | string;

type Item = Readonly<Record<string, unknown>>;

/** Thrown for an invalid value. It rejects the item, not the push. */
class InvalidItemError extends Error {}

function parseItem<T>(item: unknown, valueOf: (item: Item) => T): ParsedItem<T> {
  try {
    if (typeof item !== 'object' || item === null || Array.isArray(item))
      throw new InvalidItemError('the item must be an object');
    const recordedImei = parseDeviceNumber(item as Item);
    const imei = terminalKey(recordedImei);
    if (imei === null) throw new InvalidItemError('deviceImei is not a device number');
    return { imei, recordedImei, value: valueOf(item as Item) };
  } catch (error) {
    if (error instanceof InvalidItemError) return error.message;
    throw error;
  }
}

function parseDeviceNumber(item: Item): string {
  const value = item['deviceImei'] ?? item['imei'];
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : value;
  if (typeof text === 'string' && /^\d{1,20}$/.test(text)) return text;
  throw new InvalidItemError(value === undefined ? 'deviceImei is missing' : 'deviceImei is not a device number');
}

interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** Returns the number in the first of the fields that is present; null if none is. */
function optionalNumber(item: Item, names: readonly string[], { min = -1e12, max = 1e12 }: Range = {}): number | null {
  const name = names.find((each) => item[each] !== undefined && item[each] !== null);
  if (name === undefined) return null;
  const value = item[name];
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new InvalidItemError(`${name} must be a number`);
  if (value < min || value > max) throw new InvalidItemError(`${name} is out of range`);
  return value;
}

function requiredNumber(item: Item, names: readonly string[], range: Range): number {
  const value = optionalNumber(item, names, range);
  if (value === null) throw new InvalidItemError(`${names[0]} is missing`);
  return value;
}

/** Parses `YYYY-MM-DD HH:mm:ss` in UTC, RFC 3339, or milliseconds; returns null for an invalid time. */
export function parseTime(value: unknown): number | null {
  if (typeof value === 'number') return Number.isInteger(value) ? value : null;
  if (typeof value !== 'string') return null;
  if (/^\d{12,14}$/.test(value)) return Number(value);
  const parts = /^(\d{4}-\d{2}-\d{2})[ Tt](\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)([Zz]|[+-]\d{2}:\d{2})?$/.exec(value);
  if (parts === null) return null;
  const [, day = '', clock = '', zone = 'Z'] = parts;
  const ms = Date.parse(`${day}T${clock}${zone.toUpperCase()}`);
  if (Number.isNaN(ms)) return null;
  // JavaScript parses 30 February as 2 March.
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day) ? ms : null;
}

function optionalTime(item: Item, names: readonly string[], nowMs: number): number | null {
  const name = names.find((each) => item[each] !== undefined && item[each] !== null);
  if (name === undefined) return null;
  const ms = parseTime(item[name]);
  if (ms === null || ms < earliestTimeMs) throw new InvalidItemError(`${name} is not a valid time`);
  if (ms > nowMs + maxAheadMs) throw new InvalidItemError(`${name} is in the future`);
  return ms;
}

function optionalFlag(item: Item, name: string): boolean | null {
  const value = optionalNumber(item, [name], { min: 0, max: 1 });
  if (value !== null && !Number.isInteger(value)) throw new InvalidItemError(`${name} must be 0 or 1`);
  return value === null ? null : value === 1;
}

function optionalDriverId({ driverId }: Item): string | null {
  if (driverId === undefined || driverId === null) return null;
  if ((typeof driverId === 'string' && driverId.length <= 100) || typeof driverId === 'number') return String(driverId);
  throw new InvalidItemError('driverId is not a valid id');
}

/** Parses an item of pushgps. */
export const parsePosition = (item: unknown, nowMs: number): ParsedItem<PartnerPosition> =>
  parseItem(item, (fields) => {
    const latitude = requiredNumber(fields, ['lat', 'latitude'], { min: -90, max: 90 });
    const longitude = requiredNumber(fields, ['lng', 'longitude'], { min: -180, max: 180 });
    if (latitude === 0 && longitude === 0) throw new InvalidItemError('lat and lng are 0: there is no position');
    const timestamp = optionalTime(fields, ['gpsTime', 'timestamp'], nowMs);
    if (timestamp === null) throw new InvalidItemError('gpsTime is missing');
    const mileage = optionalNumber(fields, ['mileage'], { min: 0 });
    return {
      latitude,
      longitude,
      timestamp,
      speed: optionalNumber(fields, ['gpsSpeed', 'speed'], { min: 0, max: 1000 }) ?? 0,
      course: Math.round(optionalNumber(fields, ['direction', 'course'], { min: 0, max: 360 }) ?? 0) % 360,
      altitude: optionalNumber(fields, ['altitude']),
      satellites: roundIfPresent(optionalNumber(fields, ['satelliteNum'], { min: 0, max: 1000 })),
      ignition: optionalFlag(fields, 'acc'),
      odometerKm: mileage === null ? null : mileage / 1000,
      batteryPercent: optionalNumber(fields, ['battery'], { min: 0, max: 100 }),
      temperatureC: optionalNumber(fields, ['temperature']),
      driver: optionalDriverId(fields),
      backfilled: isBackfilled(fields, nowMs),
    };
  });

const roundIfPresent = (value: number | null): number | null => (value === null ? null : Math.round(value));

/** Returns the device's own flag. The time at which the vendor received the position is only validated. */
function isBackfilled(item: Item, nowMs: number): boolean {
  optionalTime(item, ['gateTime'], nowMs);
  return optionalNumber(item, ['gpsMode'], { min: 0, max: 255 }) === 1;
}

const heartbeatValues = [
  'powerLevel',
  'gsmSign',
  'acc',
  'oilEle',
  'gpsPos',
  'powerStatus',
  'remoteLock',
  'fortify',
  'voltage',
  'temperature',
] as const;

/** Parses an item of pushhb. Without a time it gets the current one. */
export const parseHeartbeat = (item: unknown, nowMs: number): ParsedItem<PartnerHeartbeat> =>
  parseItem(item, (fields) => {
    const values: Record<string, number> = {};
    for (const name of heartbeatValues) {
      const value = optionalNumber(fields, [name], name === 'powerLevel' ? { min: 0, max: 100 } : {});
      if (value !== null) values[name] = value;
    }
    return { timestamp: optionalTime(fields, ['gateTime', 'timestamp'], nowMs) ?? nowMs, values };
  });
