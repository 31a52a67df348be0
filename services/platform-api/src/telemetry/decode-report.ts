import { createHash } from 'node:crypto';
import { type PartnerHeartbeat, type PartnerPosition, parsePartnerReport, type TelemetryReport } from '@fleet/bus';
import {
  type AdditionalItem,
  additionalItemDefinitions,
  findAdditionalItem,
  type LocationReport,
  locationBatch,
  locationReport,
  readPower,
  terminalKey,
  tryDecodeBody,
} from '@fleet/jt808';
import { dayMs } from '@fleet/service-kit';
import type { LastLocation } from '../domains/last-positions/schema.ts';

/** One position of a batch before the terminal's clock is known: everything but the time. */
export interface DecodedReport {
  readonly kind: 'position';
  /** Canonical number. */
  readonly imei: string;
  /** Account of the partner whose server sent it; null from terminals. */
  readonly accountId: number | null;
  readonly edition: TelemetryReport['edition'];
  readonly serialNo: number;
  readonly alarmWord: number;
  readonly statusWord: number;
  readonly extras: readonly AdditionalItem[];
  readonly hash: string;
  readonly receivedAtMs: number;
  /** `YYYY-MM-DDThh:mm:ss` on the terminal's clock, milliseconds in UTC, or null without a time. */
  readonly deviceTime: string | number | null;
  /** Sent in a batch of stored reports (0x0704), or marked as late by a partner. */
  readonly isStored: boolean;
  /** Without its times and derived values. */
  readonly position: Omit<LastLocation, 'timestamp' | 'serverTimestamp' | 'backfilled' | 'slowSinceMs' | 'alarms'>;
}

/** Heartbeat values of a partner's device; null for missing ones. */
export interface DecodedHeartbeat
  extends Pick<LastLocation, 'ignition' | 'batteryPercent' | 'externalVoltage' | 'signal'> {
  readonly kind: 'heartbeat';
  /** Canonical number. */
  readonly imei: string;
  readonly accountId: number;
  /** The number as positions contain it. */
  readonly displayImei: string;
  readonly receivedAtMs: number;
  /** Never later than its arrival. */
  readonly timestamp: number;
}

/** Content of one stored report. */
export type Decoded = DecodedReport | DecodedHeartbeat;

/** Status bits of 0x0200 (JT/T 808-2013 table 25). */
const status = { ignition: 1 << 0, fix: 1 << 1 } as const;

/** Returns the positions of one stored report, or its heartbeat. Invalid ones are skipped and reported to `onFault`. */
export function decodeReport(report: TelemetryReport, onFault: (fault: string) => void): Decoded[] {
  const imei = terminalKey(report.phone);
  if (imei === null) {
    onFault('a terminal number of zeros');
    return [];
  }
  if (report.edition === 'partner') return decodePartner(report, imei, onFault);
  if (report.messageId === 0x0704) {
    const batch = tryDecodeBody(locationBatch, report.body, report.edition);
    if (!batch.ok) {
      onFault(`0x0704: ${batch.error.message}`);
      return [];
    }
    // Type 0 is a current batch; 1 was stored in a blind area (JT/T 808-2013 table 76).
    return batch.body.items.map((item) => fromTerminal(report, imei, item, true));
  }
  const single = tryDecodeBody(locationReport, report.body, report.edition);
  if (single.ok) return [fromTerminal(report, imei, single.body, false)];
  onFault(`0x0200: ${single.error.message}`);
  return [];
}

function fromTerminal(
  report: TelemetryReport,
  imei: string,
  location: LocationReport,
  isStored: boolean,
): DecodedReport {
  const { extras } = location;
  const mileage = findAdditionalItem(additionalItemDefinitions.mileage, extras);
  const fuel = findAdditionalItem(additionalItemDefinitions.fuel, extras);
  const satellites = findAdditionalItem(additionalItemDefinitions.satellites, extras);
  const signal = findAdditionalItem(additionalItemDefinitions.signalStrength, extras);
  const hasPlace = isPosition(location.latitudeDeg, location.longitudeDeg);
  return {
    kind: 'position',
    imei,
    accountId: null,
    edition: report.edition,
    serialNo: report.serialNo,
    alarmWord: location.alarm,
    statusWord: location.status,
    extras,
    hash: hashOf(location),
    receivedAtMs: report.receivedAtMs,
    deviceTime: typeof location.time === 'string' ? location.time : null,
    isStored,
    position: {
      imei: report.phone,
      latitude: hasPlace ? location.latitudeDeg : 0,
      longitude: hasPlace ? location.longitudeDeg : 0,
      altitude: location.altitudeM,
      speed: location.speedKmh,
      course: location.directionDeg % 360,
      gpsValid: hasPlace && (location.status & status.fix) !== 0,
      satellites: satellites?.satellites ?? null,
      signal: signal?.signalStrength ?? null,
      ignition: (location.status & status.ignition) !== 0,
      odometerKm: mileage?.mileageKm ?? null,
      fuelL: fuel?.fuelL ?? null,
      ...readPower(extras),
      source: 'jt808',
    },
  };
}

function decodePartner(report: TelemetryReport, imei: string, onFault: (fault: string) => void): Decoded[] {
  let content: ReturnType<typeof parsePartnerReport>;
  try {
    content = parsePartnerReport(report);
  } catch {
    // Partner ingest accepts only JSON: the batch is corrupt.
    onFault("a partner's report that is not JSON");
    return [];
  }
  if (content === null) return [];
  const from: Origin = { imei, accountId: content.accountId, receivedAtMs: report.receivedAtMs };
  const displayImei = toDisplayImei(report.phone);
  return content.kind === 'position'
    ? [fromPartner(from, displayImei, content.position)]
    : [heartbeatOf(from, displayImei, content.heartbeat)];
}

type Origin = Pick<DecodedHeartbeat, 'imei' | 'accountId' | 'receivedAtMs'>;

const fromPartner = (from: Origin, displayImei: string, position: PartnerPosition): DecodedReport => ({
  kind: 'position',
  ...from,
  edition: 'partner',
  serialNo: 0,
  alarmWord: 0,
  statusWord: 0,
  extras: [],
  // Positions of partners are unique by device and time.
  hash: hashOfText(String(position.timestamp)),
  deviceTime: position.timestamp,
  isStored: position.backfilled,
  position: {
    imei: displayImei,
    latitude: position.latitude,
    longitude: position.longitude,
    altitude: position.altitude,
    speed: position.speed,
    course: Math.round(position.course) % 360,
    gpsValid: isPosition(position.latitude, position.longitude),
    satellites: position.satellites,
    signal: null,
    ignition: position.ignition,
    odometerKm: position.odometerKm,
    fuelL: null,
    batteryPercent: position.batteryPercent,
    externalVoltage: null,
    source: 'partner',
  },
});

/** Uses the vendor's names. */
function heartbeatOf(from: Origin, displayImei: string, { timestamp, values }: PartnerHeartbeat): DecodedHeartbeat {
  const { acc, powerLevel = null, voltage = null, gsmSign } = values;
  return {
    kind: 'heartbeat',
    ...from,
    displayImei,
    timestamp: Math.min(timestamp, from.receivedAtMs),
    ignition: acc === 1 ? true : acc === 0 ? false : null,
    batteryPercent: powerLevel,
    externalVoltage: voltage,
    signal: gsmSign === undefined ? null : Math.round(gsmSign),
  };
}

/** Numbers of partner devices have 20 digits here; APIs use 15, or 12 for short ones. */
const toDisplayImei = (phone: string): string => {
  const digits = phone.replace(/^0+/, '');
  return digits.length <= 12 ? digits.padStart(12, '0') : digits.padStart(15, '0');
};

/** Receivers without a position report 0, 0. */
const isPosition = (latitude: number, longitude: number): boolean =>
  Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 && !(latitude === 0 && longitude === 0);

// Equal for a report that came alone or in a batch: derived from its values, because the raw bytes of a batch's items
// are not stored.
function hashOf(location: LocationReport): string {
  const { extras, extrasTrailing, ...base } = location;
  const hash = createHash('sha1').update(JSON.stringify(base));
  for (const { id, bytes } of extras) hash.update(Uint8Array.of(id, bytes.length)).update(bytes);
  if (extrasTrailing !== undefined) hash.update(extrasTrailing);
  return hash.digest('hex').slice(0, 16);
}

const hashOfText = (text: string): string => createHash('sha1').update(text).digest('hex').slice(0, 16);

/** A clock further ahead than this is wrong: its reports would make all later ones late. */
const maxAheadMs = 600_000;
/** A clock further behind than this was never set, and restarts at the same time with each start of the terminal. */
const maxLagMs = 366 * dayMs;

/** Returns the timestamp of a device's time by the terminal's own clock; the time of arrival if that is implausible. */
export function deviceTimestamp(
  { deviceTime, receivedAtMs }: Pick<DecodedReport, 'deviceTime' | 'receivedAtMs'>,
  cameraUtcOffset: string,
): number {
  if (typeof deviceTime === 'number') return Math.min(deviceTime, receivedAtMs);
  const instant = deviceTime === null ? Number.NaN : Date.parse(`${deviceTime}${cameraUtcOffset}`);
  const canBe = instant <= receivedAtMs + maxAheadMs && instant >= receivedAtMs - maxLagMs;
  return canBe ? instant : receivedAtMs;
}
