import { terminalKey } from '@fleet/jt808';
import { validationError } from '@fleet/service-kit';
import { omitUndefined, serializeAttributes } from '../../platform/fields.ts';
import { isTimezone } from '../../platform/local-time.ts';
import type { Change } from '../../store/account-repository.ts';
import type { Channel, Vehicle, VehicleBody } from './schema.ts';

/**
 * Clock of terminals in their manufacturers' home time zone, unless a record sets another one
 * (docs/reference/vehicles.md).
 */
export const defaultCameraUtcOffset = '+08:00';

const maxVehicleNoLength = 20;

/** Returns a vehicle number in upper case without spaces. */
export const normalizeVehicleNo = (vehicleNo: string): string => vehicleNo.replaceAll(/\s/g, '').toUpperCase();

/**
 * Returns true if the terminal was in the vehicle at a time. Its earlier data were recorded elsewhere, perhaps in a
 * vehicle of another account, so there is no tolerance, not even of seconds.
 */
export const hadTerminalAt = (
  { terminalSinceMs, createdAt }: Pick<Vehicle, 'terminalSinceMs' | 'createdAt'>,
  atMs: number,
): boolean => atMs >= (terminalSinceMs ?? createdAt.getTime());

/** Default values of a new vehicle. */
export const vehicleDefaults = {
  name: '',
  imei: null,
  recordedImei: null,
  vehicleType: 'other',
  make: null,
  model: null,
  year: null,
  color: null,
  vin: null,
  fuelType: null,
  tankCapacityL: null,
  speedLimitKmh: null,
  odometerKm: 0,
  timezone: 'UTC',
  cameraUtcOffset: defaultCameraUtcOffset,
  driverId: null,
  groupIds: [],
  channels: [],
  attributes: '{}',
} as const satisfies Partial<Vehicle>;

/**
 * Returns the fields that a body changes; null resets a field to its default. Throws 400 for faults that no schema
 * detects.
 */
export function toVehicleChange(
  body: VehicleBody,
  known: { readonly vehicleNo: string; readonly accountTimezone: string },
  now = new Date(),
): Change<Vehicle> {
  const vehicleNo = body.vehicle_no === undefined ? undefined : parseVehicleNo(body.vehicle_no);
  return omitUndefined({
    vehicleNo,
    name: body.name === null ? (vehicleNo ?? known.vehicleNo) : body.name,
    ...(body.imei === undefined ? {} : { imei: parseImei(body.imei), recordedImei: body.imei }),
    vehicleType: body.vehicle_type === null ? vehicleDefaults.vehicleType : body.vehicle_type,
    make: body.make,
    model: body.model,
    year: parseYear(body.year, now),
    color: body.color,
    vin: body.vin === undefined || body.vin === null ? body.vin : body.vin.toUpperCase(),
    fuelType: body.fuel_type,
    tankCapacityL: body.tank_capacity_l,
    speedLimitKmh: body.speed_limit_kmh,
    odometerKm: body.odometer_km,
    timezone: body.timezone === null ? known.accountTimezone : parseTimezone(body.timezone),
    cameraUtcOffset: body.camera_utc_offset === null ? defaultCameraUtcOffset : body.camera_utc_offset,
    driverId: body.driver_id,
    groupIds: body.group_ids === undefined ? undefined : [...new Set(body.group_ids)],
    channels: body.channels === undefined ? undefined : parseChannels(body.channels),
    attributes: body.attributes === undefined ? undefined : serializeAttributes(body.attributes),
  });
}

function parseVehicleNo(text: string): string {
  const vehicleNo = normalizeVehicleNo(text);
  if (vehicleNo !== '' && vehicleNo.length <= maxVehicleNoLength) return vehicleNo;
  throw validationError([
    { path: '/vehicle_no', message: `must have 1 to ${maxVehicleNoLength} characters besides spaces` },
  ]);
}

function parseImei(number: string | null): string | null {
  const key = number === null ? null : terminalKey(number);
  if (key === null && number !== null) throw validationError([{ path: '/imei', message: 'must not be all zeros' }]);
  return key;
}

function parseYear(year: number | null | undefined, now: Date): number | null | undefined {
  const latest = now.getUTCFullYear() + 1;
  if (year === null || year === undefined || year <= latest) return year;
  throw validationError([{ path: '/year', message: `must be at most ${latest}` }]);
}

function parseTimezone(name: string | undefined): string | undefined {
  if (name === undefined || isTimezone(name)) return name;
  throw validationError([{ path: '/timezone', message: 'must be an IANA name such as Asia/Kolkata' }]);
}

function parseChannels(channels: NonNullable<VehicleBody['channels']>): Channel[] {
  const seen = new Set<number>();
  return channels.map(({ channel_id: channelId, name, enabled = true, has_audio: hasAudio = false }, at) => {
    if (seen.has(channelId))
      throw validationError([{ path: `/channels/${at}/channel_id`, message: 'is a duplicate channel' }]);
    seen.add(channelId);
    return { channelId, name: name ?? channelName(channelId), enabled, hasAudio };
  });
}

const channelName = (channelId: number): string => `Channel ${channelId}`;

const maxChannels = 16;

/** Returns the channels of a terminal that reports its number of cameras and microphones (0x1003). */
export const createChannels = ({ video, audio }: { video: number; audio: number }): Channel[] =>
  Array.from({ length: Math.min(video, maxChannels) }, (_unused, at) => ({
    channelId: at + 1,
    name: channelName(at + 1),
    enabled: true,
    hasAudio: at < audio,
  }));
