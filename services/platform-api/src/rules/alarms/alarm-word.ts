import { type AdditionalItem, additionalItemDefinitions, findAdditionalItem, readAdditionalItem } from '@fleet/jt808';
import { findTypeOfSource } from '../../domains/notifications/types.ts';
import type { Report } from '../../telemetry/report.ts';
import { bitsOf, type SustainedAlarm } from './signals.ts';

/** Bits of the alarm word (JT/T 808-2013 table 24) that this module treats specially. */
const overspeedBit = 1;
const areaBit = 20;
const routeBit = 21;
const segmentTimeBit = 22;
const deviationBit = 23;

/** `location type` of item 0x12 (JT/T 808-2013 table 29). */
const areaKinds = ['none', 'circle', 'rectangle', 'polygon', 'route'] as const;
const routeKind = 4;

/** Returns whether an edition defines a bit. */
const isDefined = (bit: number, edition: Report['edition']): boolean => {
  if (bit >= 15 && bit <= 17) return edition === '2019';
  return bit !== 31 || edition !== '2019';
};

const typeOfBit = (bit: number, edition: Report['edition']): string =>
  (isDefined(bit, edition) ? findTypeOfSource(`alarm:${bit}`)?.type : undefined) ?? 'unknown_alarm';

/** Returns the types of the active bits, including `overspeed`. */
export const alarmWordTypes = ({ alarmWord, edition }: Report): string[] =>
  bitsOf(alarmWord).map((bit) => typeOfBit(bit, edition));

/**
 * Returns the alarms of the alarm word except bit 1, which the `overspeed` rule merges with the platform's own
 * measurement. A bit that the edition reserves is `unknown_alarm`; items distinguish areas and routes.
 */
export function alarmWordAlarms(report: Report): SustainedAlarm[] {
  if (report.alarmWord === 0) return [];
  return bitsOf(report.alarmWord)
    .filter((bit) => bit !== overspeedBit)
    .flatMap((bit) => {
      const type = typeOfBit(bit, report.edition);
      if (type === 'unknown_alarm') return [{ type, subject: `alarm:${bit}`, attributes: { bit } }];
      return subjectsOf(bit, report).map(({ subject, attributes }) => ({
        type,
        subject,
        attributes: { bit, ...attributes },
      }));
    });
}

interface Subject {
  readonly subject: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

function subjectsOf(bit: number, report: Report): Subject[] {
  const found =
    bit === segmentTimeBit
      ? segmentTimes(report.extras)
      : bit === areaBit || bit === routeBit || bit === deviationBit
        ? crossings(bit, report)
        : [];
  return found.length === 0 ? [{ subject: '', attributes: {} }] : found;
}

/** Returns the items 0x12 of a bit: those of its kind, or all if the report has no other bit for them. */
function crossings(bit: number, { extras, alarmWord }: Report): Subject[] {
  const items = extras.flatMap((extra) => readAdditionalItem(additionalItemDefinitions.areaInOut, extra) ?? []);
  const own = items.filter(({ locationType }) => (locationType === routeKind) === (bit !== areaBit));
  const others = [areaBit, routeBit].filter((each) => each !== bit && ((alarmWord >>> each) & 1) === 1);
  if (bit === deviationBit && others.length > 0) return [];
  const mine = own.length === 0 && others.length === 0 ? items : own;
  return mine.map(({ locationType, areaId, direction }) => {
    const event = direction === 0 ? 'enter' : direction === 1 ? 'exit' : `direction_${direction}`;
    return {
      subject: `terminal:${locationType}:${areaId}:${event}`,
      attributes: { event, area_id: areaId, area_type: areaKinds[locationType] ?? String(locationType), direction },
    };
  });
}

function segmentTimes(extras: readonly AdditionalItem[]): Subject[] {
  const item = findAdditionalItem(additionalItemDefinitions.segmentTime, extras);
  if (item === undefined) return [];
  const result = item.result === 0 ? 'too_short' : item.result === 1 ? 'too_long' : String(item.result);
  return [
    {
      subject: `terminal:${item.segmentId}:${result}`,
      attributes: { segment_id: item.segmentId, travel_time_seconds: item.travelTimeS, result },
    },
  ];
}
