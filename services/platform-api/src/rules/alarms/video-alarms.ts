import { type AdditionalItem, additionalItemDefinitions, findAdditionalItem, readAdditionalItem } from '@fleet/jt808';
import { findTypeOfSource } from '../../domains/notifications/types.ts';
import type { Report } from '../../telemetry/report.ts';
import { bitsOf, type SustainedAlarm } from './signals.ts';

/** Bits of item 0x14 (JT/T 1078-2016 table 14) with an item for their detail. */
const lossBit = 0;
const coverBit = 1;
const storageBit = 2;
const behaviourBit = 5;

/** Main storage units of item 0x17; the following bits are backup units. */
const mainUnits = 12;
const behaviours = ['fatigue', 'phone', 'smoking'] as const;

const typeOfBit = (bit: number): string => findTypeOfSource(`video:${bit}`)?.type ?? 'unknown_alarm';

interface VideoState {
  readonly bits: ReadonlySet<number>;
  readonly lost: readonly number[];
  readonly covered: readonly number[];
  readonly units: readonly number[];
}

/** Merges several items of one kind. A named channel or unit implies its bit, in case the terminal omits that. */
function readState(extras: readonly AdditionalItem[]): VideoState {
  let [mask, lost, covered, units] = [0, 0, 0, 0];
  for (const extra of extras) {
    mask |= readAdditionalItem(additionalItemDefinitions.videoAlarm, extra)?.videoAlarm ?? 0;
    lost |= readAdditionalItem(additionalItemDefinitions.videoLoss, extra)?.videoLossChannels ?? 0;
    covered |= readAdditionalItem(additionalItemDefinitions.videoCover, extra)?.videoCoverChannels ?? 0;
    units |= readAdditionalItem(additionalItemDefinitions.storageFailure, extra)?.storageFailure ?? 0;
  }
  const bits = new Set(bitsOf(mask));
  if (lost !== 0) bits.add(lossBit);
  if (covered !== 0) bits.add(coverBit);
  if (units !== 0) bits.add(storageBit);
  return { bits, lost: bitsOf(lost), covered: bitsOf(covered), units: bitsOf(units) };
}

/** Returns the types of the active video alarms. */
export const videoAlarmTypes = ({ extras }: Report): string[] =>
  extras.length === 0 ? [] : [...readState(extras).bits].map(typeOfBit);

/**
 * Returns the video alarms of items 0x14 to 0x18: one for each channel and storage unit, or one for all if the terminal
 * names none.
 */
export function videoAlarms({ extras }: Report): SustainedAlarm[] {
  if (extras.length === 0) return [];
  const state = readState(extras);
  return [...state.bits].flatMap((bit) => alarmsOfBit(bit, state, extras));
}

function alarmsOfBit(bit: number, state: VideoState, extras: readonly AdditionalItem[]): SustainedAlarm[] {
  const type = typeOfBit(bit);
  if (type === 'unknown_alarm') return [{ type, subject: `video:${bit}`, attributes: { item: '0x14', bit } }];
  if (bit === lossBit) return perChannel(type, state.lost);
  if (bit === coverBit) return perChannel(type, state.covered);
  if (bit === storageBit) return perUnit(type, state.units);
  return [{ type, subject: '', attributes: bit === behaviourBit ? behaviourOf(extras) : {} }];
}

function perChannel(type: string, bits: readonly number[]): SustainedAlarm[] {
  if (bits.length === 0) return [{ type, subject: '', attributes: { channels: [] } }];
  return bits.map((bit) => ({ type, subject: `channel:${bit + 1}`, attributes: { channels: [bit + 1] } }));
}

function perUnit(type: string, bits: readonly number[]): SustainedAlarm[] {
  if (bits.length === 0) return [{ type, subject: '', attributes: {} }];
  return bits.map((bit) => {
    const isMain = bit < mainUnits;
    const storage = { kind: isMain ? 'main' : 'backup', number: isMain ? bit + 1 : bit - mainUnits + 1 };
    return { type, subject: `${storage.kind}:${storage.number}`, attributes: { storage } };
  });
}

function behaviourOf(extras: readonly AdditionalItem[]): Readonly<Record<string, unknown>> {
  const item = findAdditionalItem(additionalItemDefinitions.abnormalDriving, extras);
  if (item === undefined) return {};
  const names = bitsOf(item.behaviourType).map((bit) => behaviours[bit] ?? `custom_${bit}`);
  return { behaviours: names, ...(item.fatigueLevel === undefined ? {} : { fatigue: item.fatigueLevel }) };
}
