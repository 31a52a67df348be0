import { type AdditionalItemDefinition, defineAdditionalItem } from './additional-item-definition.ts';
import type { Edition } from './edition.ts';
import {
  type Fields,
  formatFields,
  hexId,
  optionalTail,
  readExactly,
  signMagnitude,
  tenths,
  tenthsU32,
  u8,
  u16,
  u32,
  type ValuesOf,
  writeFields,
} from './fields/index.ts';
import { wheelPressures } from './fields/wheel-pressures.ts';
import { safetyAlarmItems } from './safety-alarm-items.ts';
import { Writer } from './writer.ts';

/** Additional-information item of a location: id and raw value. `readAdditionalItem` returns the typed value. */
export interface AdditionalItem {
  id: number;
  bytes: Buffer;
}

const table27 = 'JT/T 808-2013 table 27';
const jt1078Table13 = 'JT/T 1078-2016 table 13';

const areaType = u8(); // 0 none, 1 circle, 2 rectangle, 3 polygon, 4 section or route

/** All additional-information items with a standard meaning, by name. */
export const additionalItemDefinitions = {
  mileage: defineAdditionalItem({
    id: 0x01,
    name: 'mileage',
    reference: table27,
    lengths: [4],
    fields: { mileageKm: tenthsU32() },
  }),
  fuel: defineAdditionalItem({ id: 0x02, name: 'fuel', reference: table27, lengths: [2], fields: { fuelL: tenths() } }),
  recorderSpeed: defineAdditionalItem({
    id: 0x03,
    name: 'recorderSpeed',
    reference: table27,
    lengths: [2],
    fields: { recorderSpeedKmh: tenths() },
  }),
  /** Alarm that a person must confirm with 0x8203. */
  alarmEvent: defineAdditionalItem({
    id: 0x04,
    name: 'alarmEvent',
    reference: table27,
    lengths: [2],
    fields: { alarmEventId: u16() },
  }),
  tyrePressures: defineAdditionalItem({
    id: 0x05,
    name: 'tyrePressures',
    reference: 'JT/T 808-2019 table 27',
    lengths: [30],
    fields: { tyrePressures: wheelPressures() },
  }),
  carriageTemperature: defineAdditionalItem({
    id: 0x06,
    name: 'carriageTemperature',
    reference: 'JT/T 808-2019 table 27',
    lengths: [2],
    fields: { carriageTemperatureC: signMagnitude() },
  }),
  overspeedArea: defineAdditionalItem({
    id: 0x11,
    name: 'overspeedArea',
    reference: 'JT/T 808-2013 table 28',
    lengths: [1, 5],
    fields: { locationType: areaType, areaId: optionalTail(u32(), 4) },
  }),
  areaInOut: defineAdditionalItem({
    id: 0x12,
    name: 'areaInOut',
    reference: 'JT/T 808-2013 table 29',
    lengths: [6],
    fields: { locationType: areaType, areaId: u32(), direction: u8() }, // direction 0 in, 1 out
  }),
  segmentTime: defineAdditionalItem({
    id: 0x13,
    name: 'segmentTime',
    reference: 'JT/T 808-2013 table 30',
    lengths: [7],
    fields: { segmentId: u32(), travelTimeS: u16(), result: u8() }, // result 0 too short, 1 too long
  }),
  /** Bits: 0 signal lost, 1 covered, 2 storage fault, 3 other video fault, 4 overload, 5 abnormal driving, 6 special recording full. */
  videoAlarm: defineAdditionalItem({
    id: 0x14,
    name: 'videoAlarm',
    reference: jt1078Table13,
    lengths: [4],
    fields: { videoAlarm: u32() },
  }),
  /** Bit n = channel n + 1. */
  videoLoss: defineAdditionalItem({
    id: 0x15,
    name: 'videoLoss',
    reference: jt1078Table13,
    lengths: [4],
    fields: { videoLossChannels: u32() },
  }),
  /** Bit n = channel n + 1. */
  videoCover: defineAdditionalItem({
    id: 0x16,
    name: 'videoCover',
    reference: jt1078Table13,
    lengths: [4],
    fields: { videoCoverChannels: u32() },
  }),
  /** Bits 0-11 main storage 1-12, 12-15 backup 1-4. */
  storageFailure: defineAdditionalItem({
    id: 0x17,
    name: 'storageFailure',
    reference: jt1078Table13,
    lengths: [2],
    fields: { storageFailure: u16() },
  }),
  /** Type bits: 0 fatigue, 1 phone, 2 smoking. The text states length 2, the structure has three bytes. */
  abnormalDriving: defineAdditionalItem({
    id: 0x18,
    name: 'abnormalDriving',
    reference: jt1078Table13,
    lengths: [2, 3],
    fields: { behaviourType: u16(), fatigueLevel: optionalTail(u8()) },
  }),
  vehicleSignals: defineAdditionalItem({
    id: 0x25,
    name: 'vehicleSignals',
    reference: 'JT/T 808-2013 table 31',
    lengths: [4],
    fields: { vehicleSignals: u32() },
  }),
  /** Bit 0 deep sleep, bit 1 sleep. */
  ioStatus: defineAdditionalItem({
    id: 0x2a,
    name: 'ioStatus',
    reference: 'JT/T 808-2013 table 32',
    lengths: [2],
    fields: { ioStatus: u16() },
  }),
  /** One DWORD with AD0 in its low half: AD1 comes first on the wire. */
  analog: defineAdditionalItem({
    id: 0x2b,
    name: 'analog',
    reference: table27,
    lengths: [4],
    fields: { ad1: u16(), ad0: u16() },
  }),
  signalStrength: defineAdditionalItem({
    id: 0x30,
    name: 'signalStrength',
    reference: table27,
    lengths: [1],
    fields: { signalStrength: u8() },
  }),
  satellites: defineAdditionalItem({
    id: 0x31,
    name: 'satellites',
    reference: table27,
    lengths: [1],
    fields: { satellites: u8() },
  }),
  ...safetyAlarmItems,
};

const byId: ReadonlyMap<number, AdditionalItemDefinition> = new Map(
  Object.values(additionalItemDefinitions).map((definition): [number, AdditionalItemDefinition] => [
    definition.id,
    definition,
  ]),
);

const itemEdition: Edition = '2019'; // items have the same layout in all editions

function isStandardLength(definition: AdditionalItemDefinition, length: number): boolean {
  const { lengths } = definition;
  return typeof lengths === 'function' ? lengths(length) : lengths.includes(length);
}

/**
 * Returns the typed value of an item; undefined for another id, or if the length is not standard (vendors reuse ids).
 */
export function readAdditionalItem<F extends Fields>(
  definition: AdditionalItemDefinition<F>,
  item: AdditionalItem,
): ValuesOf<F> | undefined {
  if (item.id !== definition.id || !isStandardLength(definition, item.bytes.length)) return undefined;
  return readExactly(definition.fields, item.bytes, itemEdition);
}

/** Returns the typed value of the first item of this kind that has the standard form. */
export function findAdditionalItem<F extends Fields>(
  definition: AdditionalItemDefinition<F>,
  items: readonly AdditionalItem[],
): ValuesOf<F> | undefined {
  for (const item of items) {
    const values = readAdditionalItem(definition, item);
    if (values !== undefined) return values;
  }
  return undefined;
}

/** Creates an item from a typed value, for sending. */
export function createAdditionalItem<F extends Fields>(
  definition: AdditionalItemDefinition<F>,
  values: ValuesOf<F>,
): AdditionalItem {
  const writer = new Writer();
  const body: Readonly<Record<string, unknown>> = { ...values };
  writeFields(Object.entries(definition.fields), writer, body, itemEdition);
  return { id: definition.id, bytes: writer.finish() };
}

/** Returns the log form of an item: id, length, raw hex, and the named values if it is standard. */
export function formatAdditionalItem(item: AdditionalItem): Record<string, unknown> {
  const raw = { id: hexId(item.id, 2), length: item.bytes.length, hex: item.bytes.toString('hex').toUpperCase() };
  const definition = byId.get(item.id);
  const values = definition === undefined ? undefined : readAdditionalItem(definition, item);
  if (definition === undefined || values === undefined) return raw;
  return { ...raw, ...formatFields(Object.entries(definition.fields), values) };
}
