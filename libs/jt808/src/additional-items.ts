import type { Edition } from './edition.ts';
import { BodyError } from './errors.ts';
import {
  altitude,
  bytes,
  cameraTime,
  type Field,
  type Fields,
  formatFields,
  hexId,
  optionalTail,
  readExactly,
  remainingBytes,
  signMagnitude,
  struct,
  tenths,
  tenthsU32,
  u8,
  u16,
  u32,
  unsignedCoordinate,
  type ValuesOf,
  writeFields,
} from './fields/index.ts';
import { tagField, tagSizes } from './fields/tag.ts';
import type { Reader } from './reader.ts';
import { Writer } from './writer.ts';

/** Additional-information item of a location: id and raw value. `readAdditionalItem` returns the typed value. */
export interface AdditionalItem {
  id: number;
  bytes: Buffer;
}

/** Definition of an item of JT/T 808 table 27, JT/T 1078 or T/JSATL 12 as a table of fields. */
export interface AdditionalItemDefinition<F extends Fields = Fields> {
  readonly id: number;
  readonly name: string;
  readonly reference: string;
  /** Lengths with this meaning. Vendors reuse the ids with other lengths. */
  readonly lengths: readonly number[] | ((length: number) => boolean);
  readonly fields: F;
}

function defineAdditionalItem<F extends Fields>(definition: AdditionalItemDefinition<F>): AdditionalItemDefinition<F> {
  return definition;
}

const table27 = 'JT/T 808-2013 table 27';
const jt1078Table13 = 'JT/T 1078-2016 table 13';

/** Value for a wheel that has no tyre, or whose tyre has no sensor. */
const noTyreByte = 0xff;
const wheelCount = 30;
const wheelPressureShape = { kind: 'constant', values: [null, 0, 1, 127, 254] } as const;

/** Creates a field of one byte per wheel; null where there is no tyre. */
function wheelPressures(): Field<(number | null)[]> {
  return {
    type: 'BYTE[30]',
    shape: { kind: 'tuple', items: Array.from({ length: wheelCount }, () => wheelPressureShape) },
    read: (reader) => Array.from(reader.take(wheelCount), (value) => (value === noTyreByte ? null : value)),
    write: (writer, value) => {
      const wheels = Buffer.alloc(wheelCount, noTyreByte);
      wheels.set(value.slice(0, wheelCount).map((pressure) => pressure ?? noTyreByte));
      writer.put(wheels);
    },
    format: (out, _key, value) => {
      out['tyre_pressures'] = value;
    },
  };
}

/** Position and time of a driver-assistance alarm. The coordinates have no hemisphere. */
const alarmPosition = {
  speedKmh: u8(),
  altitudeM: altitude(),
  latitudeDeg: unsignedCoordinate(),
  longitudeDeg: unsignedCoordinate(),
  time: cameraTime(),
  vehicleStatus: u16(), // bits 0 ACC, 1 left turn, 2 right turn, 3 wiper, 4 brake, 5 card in, 10 fix
};
const tagAtEnd = { tag: tagField((reader) => reader.remaining) };

/** Returns the lengths of an alarm item whose fixed part has `fixed` bytes, for the tags of all provinces. */
const lengthsWithTag = (fixed: number): number[] => tagSizes.map((size) => fixed + size);

/**
 * Returns the size of a TPMS alarm's tag: the size that leaves a whole number of wheels of 9 bytes (10 in Guangdong).
 */
function tpmsTagSize(reader: Reader): number {
  const fits = (size: number): boolean => {
    const wheels = reader.remaining - size - 1;
    return wheels >= 0 && tpmsWheelBytes(reader.bytes[reader.at + size] as number, wheels) !== undefined;
  };
  const size = tagSizes.find(fits);
  if (size === undefined) throw new BodyError('no known tag size fits');
  return size;
}

function tpmsWheelBytes(count: number, length: number): 9 | 10 | undefined {
  if (length === count * 9) return 9;
  return length === count * 10 ? 10 : undefined;
}

const wheel = {
  position: u8(),
  type: u16(), // bits 0 periodic, 1 high, 2 low, 3 hot, 4 sensor, 5 imbalance, 6 slow leak, 7 battery
  pressureKpa: u16(),
  temperatureC: u16(),
  batteryPercent: u16(),
};
const wheel9 = struct(wheel);
const wheel10 = struct({ ...wheel, position: u16() });

/**
 * Creates the field for the wheels of a TPMS alarm. The length reveals Guangdong's two-byte positions; they are written
 * for positions above 255.
 */
function wheels(): Field<ValuesOf<typeof wheel>[]> {
  return {
    type: 'BYTE n, n x (BYTE position, WORD type, WORD kPa, WORD degC, WORD %)',
    shape: { kind: 'list', item: wheel9.shape, max: 4 },
    read(reader, scope) {
      const count = reader.u8();
      const form = tpmsWheelBytes(count, reader.remaining) === 10 ? wheel10 : wheel9;
      return Array.from({ length: count }, () => form.read(reader, scope));
    },
    write(writer, value, scope) {
      const form = value.some((item) => item.position > 255) ? wheel10 : wheel9;
      writer.uint(value.length, 1);
      for (const item of value) form.write(writer, item, scope);
    },
    format(out, _key, value) {
      out['items'] = value.map((item) => formatFields(Object.entries(wheel), item));
    },
  };
}

const alarmHeader = { alarmId: u32(), flag: u8() }; // flag 0 none, 1 start, 2 end
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
  /** Advanced driver assistance: forward collision, lane departure, ... */
  adasAlarm: defineAdditionalItem({
    id: 0x64,
    name: 'adasAlarm',
    reference: 'T/JSATL 12-2017 table 4-15',
    lengths: lengthsWithTag(31),
    fields: {
      ...alarmHeader,
      type: u8(),
      level: u8(),
      frontSpeedKmh: u8(),
      frontDistance100ms: u8(),
      deviationType: u8(), // 1 left, 2 right
      signType: u8(), //      1 speed, 2 height, 3 weight
      signData: u8(),
      ...alarmPosition,
      ...tagAtEnd,
    },
  }),
  /** Driver state: fatigue, phone, smoking, ... */
  dsmAlarm: defineAdditionalItem({
    id: 0x65,
    name: 'dsmAlarm',
    reference: 'T/JSATL 12-2017 table 4-17',
    lengths: lengthsWithTag(31),
    fields: {
      ...alarmHeader,
      type: u8(),
      level: u8(),
      fatigueLevel: u8(),
      reserved: bytes(4),
      ...alarmPosition,
      ...tagAtEnd,
    },
  }),
  tpmsAlarm: defineAdditionalItem({
    id: 0x66,
    name: 'tpmsAlarm',
    reference: 'T/JSATL 12-2017 table 4-18',
    lengths: (length) => length >= 41,
    fields: { ...alarmHeader, ...alarmPosition, tag: tagField(tpmsTagSize), wheels: wheels() },
  }),
  /** Blind spot: 1 rear, 2 left rear, 3 right rear. */
  bsdAlarm: defineAdditionalItem({
    id: 0x67,
    name: 'bsdAlarm',
    reference: 'T/JSATL 12-2017 table 4-20',
    lengths: lengthsWithTag(25),
    fields: { ...alarmHeader, type: u8(), ...alarmPosition, ...tagAtEnd },
  }),
  /**
   * Intense driving of other provinces: 1 harsh acceleration, 2 harsh braking, 3 harsh turn. The bytes that follow
   * differ by province.
   */
  intenseDriving: defineAdditionalItem({
    id: 0x70,
    name: 'intenseDriving',
    reference: 'provincial supplements to T/JSATL 12-2017',
    lengths: (length) => length >= 47,
    fields: { ...alarmHeader, type: u8(), detail: remainingBytes() },
  }),
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
