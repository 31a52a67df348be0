import {
  type AdditionalItem,
  type AlarmTag,
  additionalItemDefinitions,
  type CameraTime,
  readAdditionalItem,
} from '@fleet/jt808';
import { findTypeOfSource } from '../../domains/notifications/types.ts';
import type { Report } from '../../telemetry/report.ts';
import { type AlarmEvent, bitsOf, type Phase } from './signals.ts';

type EventPosition = Pick<AlarmEvent, 'atMs' | 'latitude' | 'longitude' | 'gpsValid'>;

/** Time and position of a T/JSATL 12 item; coordinates without a hemisphere. */
interface ItemPosition {
  readonly latitudeDeg: number;
  readonly longitudeDeg: number;
  readonly time: CameraTime;
  readonly vehicleStatus: number;
}

/** A time in an item that differs more from the report's is a clock fault and ignored. */
const trustMs = 600_000;
/** Bit of the item's vehicle status: its coordinates are a fix. */
const fixBit = 10;
/** Bits of the report's status word: hemispheres, which the items lack. */
const southBit = 2;
const westBit = 3;
const critical = 2;

const laneSides: Readonly<Record<number, string>> = { 1: 'left', 2: 'right' };
const signTypes: Readonly<Record<number, string>> = { 1: 'speed', 2: 'height', 3: 'weight' };
/** Bits of a wheel's alarm type (T/JSATL 12-2017 table 4-19); bit 0 is a periodic report and no alarm. */
const tyreReasons = ['periodic', 'high', 'low', 'hot', 'sensor', 'imbalance', 'leak', 'battery'] as const;

const phaseOf = (flag: number): Phase => (flag === 1 ? 'start' : flag === 2 ? 'end' : 'event');

/**
 * Returns the alarms of items 0x64 to 0x67 (T/JSATL 12-2017) and 0x70. The event time is that of the report, unless the
 * item has a close one of its own. A repeated item is therefore the same event. The position is the item's own if it is
 * a fix. An item of another length is non-standard (vendors reuse the ids) and no alarm.
 */
export function activeSafetyEvents(report: Report, cameraUtcOffset: string): AlarmEvent[] {
  return report.extras.flatMap((extra) => {
    switch (extra.id) {
      case additionalItemDefinitions.adasAlarm.id:
        return adas(extra, report, cameraUtcOffset);
      case additionalItemDefinitions.dsmAlarm.id:
        return dsm(extra, report, cameraUtcOffset);
      case additionalItemDefinitions.tpmsAlarm.id:
        return tyres(extra, report, cameraUtcOffset);
      case additionalItemDefinitions.bsdAlarm.id:
        return bsd(extra, report, cameraUtcOffset);
      case additionalItemDefinitions.intenseDriving.id:
        return intenseDriving(extra, report);
      default:
        return [];
    }
  });
}

function adas(extra: AdditionalItem, report: Report, offset: string): AlarmEvent[] {
  const item = readAdditionalItem(additionalItemDefinitions.adasAlarm, extra);
  if (item === undefined) return [];
  return [
    {
      ...typeAndSubject('adas', item.type, item.alarmId),
      ...locateItem(item, report, offset),
      ...severityOf(item.level),
      ...filesOf(item.tag),
      phase: phaseOf(item.flag),
      attributes: {
        ...codeAttributes('adas', item.type, extra),
        alarm_id: item.alarmId,
        level: item.level,
        front_speed: item.frontSpeedKmh,
        distance: item.frontDistance100ms, // in 100 ms of driving, as the terminal counts it
        lane_side: laneSides[item.deviationType] ?? null,
        sign_type: signTypes[item.signType] ?? null,
        sign_value: item.signData,
        ...attachments(item.tag),
      },
    },
  ];
}

function dsm(extra: AdditionalItem, report: Report, offset: string): AlarmEvent[] {
  const item = readAdditionalItem(additionalItemDefinitions.dsmAlarm, extra);
  if (item === undefined) return [];
  return [
    {
      ...typeAndSubject('dsm', item.type, item.alarmId),
      ...locateItem(item, report, offset),
      ...severityOf(item.level),
      ...filesOf(item.tag),
      phase: phaseOf(item.flag),
      attributes: {
        ...codeAttributes('dsm', item.type, extra),
        alarm_id: item.alarmId,
        level: item.level,
        fatigue: item.fatigueLevel,
        ...attachments(item.tag),
      },
    },
  ];
}

function bsd(extra: AdditionalItem, report: Report, offset: string): AlarmEvent[] {
  const item = readAdditionalItem(additionalItemDefinitions.bsdAlarm, extra);
  if (item === undefined) return [];
  return [
    {
      ...typeAndSubject('bsd', item.type, item.alarmId),
      ...locateItem(item, report, offset),
      ...filesOf(item.tag),
      phase: phaseOf(item.flag),
      attributes: { ...codeAttributes('bsd', item.type, extra), alarm_id: item.alarmId, ...attachments(item.tag) },
    },
  ];
}

// Item 0x70 differs between provinces: id, flag and type are parsed, the rest is stored as bytes. Time and position are
// the report's.
function intenseDriving(extra: AdditionalItem, report: Report): AlarmEvent[] {
  const item = readAdditionalItem(additionalItemDefinitions.intenseDriving, extra);
  if (item === undefined) return [];
  const type = (findTypeOfSource(`driving:${item.type}`) ?? findTypeOfSource('driving'))?.type ?? 'unknown_alarm';
  return [
    {
      type,
      subject: String(item.alarmId),
      phase: phaseOf(item.flag),
      ...reportPosition(report),
      attributes: { alarm_id: item.alarmId, code: item.type, raw: item.detail.toString('hex') },
    },
  ];
}

/** Returns one event for each tyre, by its reasons; a periodic report is none. An end may list normal tyres. */
function tyres(extra: AdditionalItem, report: Report, offset: string): AlarmEvent[] {
  const item = readAdditionalItem(additionalItemDefinitions.tpmsAlarm, extra);
  if (item === undefined) return [];
  const shared = { ...locateItem(item, report, offset), ...filesOf(item.tag), phase: phaseOf(item.flag) };
  const base = { alarm_id: item.alarmId, ...attachments(item.tag) };
  if (item.wheels.length === 0) {
    return [
      {
        type: 'tyre_pressure',
        subject: '',
        ...shared,
        attributes: { ...base, tyres: [] },
        endsOnly: shared.phase === 'end',
      },
    ];
  }
  return item.wheels.flatMap((wheel) => {
    const bits = bitsOf(wheel.type);
    const reasons = bits.filter((bit) => bit > 0 && bit < tyreReasons.length).map((bit) => tyreReasons[bit]);
    const tyre = {
      position: wheel.position,
      pressure_kpa: wheel.pressureKpa,
      temperature_c: wheel.temperatureC,
      battery_percent: wheel.batteryPercent,
      reasons,
    };
    const events: AlarmEvent[] = bits
      .filter((bit) => bit >= tyreReasons.length)
      .map((bit) => ({
        type: 'unknown_alarm',
        subject: `tpms:${wheel.position}:${bit}`,
        ...shared,
        attributes: { ...base, item: '0x66', bit, tyres: [tyre], raw: extra.bytes.toString('hex') },
      }));
    if (reasons.length === 0 && shared.phase !== 'end') return events;
    const attributes = { ...base, tyres: [tyre] };
    const subject = `tyre:${wheel.position}`;
    return [{ type: 'tyre_pressure', subject, ...shared, attributes, endsOnly: reasons.length === 0 }, ...events];
  });
}

type Family = 'adas' | 'dsm' | 'bsd';

/** Returns the notification type of the terminal's code; the alarm's id is the subject. */
function typeAndSubject(family: Family, code: number, alarmId: number): Pick<AlarmEvent, 'type' | 'subject'> {
  const kind = findTypeOfSource(`${family}:${code}`);
  if (kind !== undefined) return { type: kind.type, subject: String(alarmId) };
  return { type: 'unknown_alarm', subject: `${family}:${code}:${alarmId}` };
}

/** Details that explain an unlisted code. */
const codeAttributes = (family: Family, code: number, extra: AdditionalItem): Readonly<Record<string, unknown>> =>
  findTypeOfSource(`${family}:${code}`) === undefined
    ? { item: `0x${extra.id.toString(16)}`, code, raw: extra.bytes.toString('hex') }
    : {};

const severityOf = (level: number): Pick<AlarmEvent, 'severity'> =>
  level === critical ? { severity: 'critical' } : {};

/** Returns the number of the alarm's files on the terminal. */
const attachments = ({ attachmentCount }: AlarmTag): Readonly<Record<string, unknown>> =>
  attachmentCount > 0 ? { attachment_count: attachmentCount } : {};

/** Returns the tag with which the files are requested, byte by byte as received. */
const filesOf = ({ attachmentCount: count, raw }: AlarmTag): Pick<AlarmEvent, 'tag'> =>
  count > 0 && raw !== undefined ? { tag: { hex: raw.toString('hex'), count } } : {};

const reportPosition = ({ position }: Report): EventPosition => ({
  atMs: position.timestamp,
  latitude: position.latitude,
  longitude: position.longitude,
  gpsValid: position.gpsValid,
});

function locateItem(item: ItemPosition, report: Report, offset: string): EventPosition {
  const place = reportPosition(report);
  const atMs = parseItemTime(item.time, offset);
  const isNear = atMs !== undefined && Math.abs(atMs - place.atMs) <= trustMs;
  const isFix = ((item.vehicleStatus >>> fixBit) & 1) === 1 && (item.latitudeDeg !== 0 || item.longitudeDeg !== 0);
  const hasPlace = isFix && item.latitudeDeg <= 90 && item.longitudeDeg <= 180;
  const isSouth = place.latitude < 0 || ((report.statusWord >>> southBit) & 1) === 1;
  const isWest = place.longitude < 0 || ((report.statusWord >>> westBit) & 1) === 1;
  return {
    ...place,
    ...(isNear ? { atMs } : {}),
    ...(hasPlace
      ? {
          latitude: isSouth ? -item.latitudeDeg : item.latitudeDeg,
          longitude: isWest ? -item.longitudeDeg : item.longitudeDeg,
          gpsValid: true,
        }
      : {}),
  };
}

/** Returns a time of the terminal's own clock. */
function parseItemTime(time: CameraTime, offset: string): number | undefined {
  if (typeof time !== 'string') return undefined;
  const atMs = Date.parse(`${time}${offset}`);
  return Number.isNaN(atMs) ? undefined : atMs;
}
