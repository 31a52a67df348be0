import type { Point } from './schema.ts';

/**
 * Format of a packed point: numbers separated by commas, in the order of `pack`. An empty field is null; trailing empty
 * fields are omitted.
 */

const degree = 1e6;
const flag = { gpsValid: 1, ignitionOff: 2, ignitionOn: 4, partner: 8, backfilled: 16, idle: 32 } as const;
const idleAfterMs = 60_000;

const flagsOf = ({ gpsValid, ignition, source, backfilled, slowSinceMs, serverTimestamp }: Point['position']): number =>
  (gpsValid ? flag.gpsValid : 0) |
  (ignition === false ? flag.ignitionOff : 0) |
  (ignition === true ? flag.ignitionOn : 0) |
  (source === 'partner' ? flag.partner : 0) |
  (backfilled ? flag.backfilled : 0) |
  (slowSinceMs !== null && serverTimestamp - slowSinceMs >= idleAfterMs ? flag.idle : 0);

/** Packs a point into a few dozen characters. Coordinates are stored to a tenth of a metre. */
export function pack({ position, driverId }: Point): string {
  const fields = [
    Math.round(position.latitude * degree),
    Math.round(position.longitude * degree),
    position.speed,
    position.course,
    flagsOf(position),
    position.serverTimestamp - position.timestamp,
    position.altitude,
    position.satellites,
    position.signal,
    position.odometerKm,
    position.fuelL,
    position.batteryPercent,
    position.externalVoltage,
    driverId,
    position.alarms.join('|'),
  ];
  return fields
    .map((field) => String(field ?? ''))
    .join(',')
    .replace(/,+$/, '');
}

/** Unpacks a point that `pack` created. */
export function unpack(packed: string, imei: string, timestamp: number): Point {
  const fields = packed.split(',');
  const at = (i: number): number => Number(fields[i] ?? 0);
  const orNull = (i: number): number | null => (fields[i] === undefined || fields[i] === '' ? null : Number(fields[i]));
  const flags = at(4);
  const serverTimestamp = timestamp + at(5);
  const position = {
    imei,
    latitude: at(0) / degree,
    longitude: at(1) / degree,
    speed: at(2),
    course: at(3),
    gpsValid: (flags & flag.gpsValid) !== 0,
    ignition: (flags & flag.ignitionOn) !== 0 ? true : (flags & flag.ignitionOff) !== 0 ? false : null,
    source: (flags & flag.partner) !== 0 ? ('partner' as const) : ('jt808' as const),
    backfilled: (flags & flag.backfilled) !== 0,
    slowSinceMs: (flags & flag.idle) === 0 ? null : serverTimestamp - idleAfterMs,
    altitude: orNull(6),
    satellites: orNull(7),
    signal: orNull(8),
    odometerKm: orNull(9),
    fuelL: orNull(10),
    batteryPercent: orNull(11),
    externalVoltage: orNull(12),
    alarms: (fields[14] ?? '') === '' ? [] : (fields[14] ?? '').split('|'),
    timestamp,
    serverTimestamp,
  };
  return { position, driverId: orNull(13) };
}
