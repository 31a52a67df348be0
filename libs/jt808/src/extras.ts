import type { Edition } from './edition.ts';
import { BodyError } from './errors.ts';
import {
  altitude,
  bytes,
  cameraTime,
  describeFields,
  type Field,
  type Fields,
  hexId,
  ifLeft,
  magnitude,
  readExactly,
  rest,
  signMagnitude,
  struct,
  tenths,
  tenths32,
  u8,
  u16,
  u32,
  type ValuesOf,
  writeFields,
} from './fields/index.ts';
import { TAG_SIZES, tagField } from './fields/tag.ts';
import type { Reader } from './reader.ts';
import { Writer } from './writer.ts';

/** Additional-information item of a location: id and raw value. `readExtra` gives the typed value. */
export interface Extra {
  id: number;
  bytes: Buffer;
}

/** Item of JT/T 808 table 27, JT/T 1078 or T/JSATL 12 as a table of fields. */
export interface ExtraDefinition<F extends Fields = Fields> {
  readonly id: number;
  readonly name: string;
  readonly reference: string;
  /** Lengths with this meaning; the ids are reused by vendors with other lengths. */
  readonly lengths: readonly number[] | ((length: number) => boolean);
  readonly fields: F;
}

function defineExtra<F extends Fields>(definition: ExtraDefinition<F>): ExtraDefinition<F> {
  return definition;
}

const TABLE_27 = 'JT/T 808-2013 table 27';
const JT1078 = 'JT/T 1078-2016 table 13';

/** Byte of a wheel that has no tyre, or no sensor in it. */
const NO_TYRE = 0xff;
const WHEELS = 30;
const wheelPressure = { kind: 'constant', values: [null, 0, 1, 127, 254] } as const;

/** One byte for each wheel; null where there is no tyre. */
function wheelPressures(): Field<(number | null)[]> {
  return {
    type: 'BYTE[30]',
    shape: { kind: 'tuple', items: Array.from({ length: WHEELS }, () => wheelPressure) },
    read: (reader) => Array.from(reader.take(WHEELS), (value) => (value === NO_TYRE ? null : value)),
    write: (writer, value) => {
      const wheels = Buffer.alloc(WHEELS, NO_TYRE);
      wheels.set(value.slice(0, WHEELS).map((pressure) => pressure ?? NO_TYRE));
      writer.put(wheels);
    },
    describe: (out, _key, value) => {
      out['tyre_pressures'] = value;
    },
  };
}

/** Where and when a driver-assistance alarm was raised; coordinates without a hemisphere. */
const alarmPlace = {
  speedKmh: u8(),
  altitudeM: altitude(),
  latitudeDeg: magnitude(),
  longitudeDeg: magnitude(),
  time: cameraTime(),
  vehicleStatus: u16(), // bits 0 ACC, 1 left turn, 2 right turn, 3 wiper, 4 brake, 5 card in, 10 fix
};
const lastTag = { tag: tagField((reader) => reader.remaining) };

/** Length of an alarm item whose fixed part has `fixed` bytes, with any province's tag. */
const withTag = (fixed: number): number[] => TAG_SIZES.map((size) => fixed + size);

/** TPMS tag and list: the tag whose size leaves whole wheels of 9 bytes (10 in Guangdong). */
function tpmsTagSize(reader: Reader): number {
  const fits = (size: number): boolean => {
    const wheels = reader.remaining - size - 1;
    return wheels >= 0 && tpmsWheelBytes(reader.bytes[reader.at + size] as number, wheels) !== undefined;
  };
  const size = TAG_SIZES.find(fits);
  if (size === undefined) throw new BodyError('no known tag fits');
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

/** Wheels of a TPMS alarm; Guangdong's two-byte positions are told by the length, and kept for positions above 255. */
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
    describe(out, _key, value) {
      out['items'] = value.map((item) => describeFields(Object.entries(wheel), item));
    },
  };
}

const alarmHead = { alarmId: u32(), flag: u8() }; // flag 0 none, 1 start, 2 end
const AREA_TYPE = u8(); // 0 none, 1 circle, 2 rectangle, 3 polygon, 4 section or route

/** Every additional-information item with a standard meaning, by name. */
export const extraDefinitions = {
  mileage: defineExtra({
    id: 0x01,
    name: 'mileage',
    reference: TABLE_27,
    lengths: [4],
    fields: { mileageKm: tenths32() },
  }),
  fuel: defineExtra({ id: 0x02, name: 'fuel', reference: TABLE_27, lengths: [2], fields: { fuelL: tenths() } }),
  recorderSpeed: defineExtra({
    id: 0x03,
    name: 'recorderSpeed',
    reference: TABLE_27,
    lengths: [2],
    fields: { recorderSpeedKmh: tenths() },
  }),
  /** Alarm that a person must confirm with 0x8203. */
  alarmEvent: defineExtra({
    id: 0x04,
    name: 'alarmEvent',
    reference: TABLE_27,
    lengths: [2],
    fields: { alarmEventId: u16() },
  }),
  tyrePressures: defineExtra({
    id: 0x05,
    name: 'tyrePressures',
    reference: 'JT/T 808-2019 table 27',
    lengths: [30],
    fields: { tyrePressures: wheelPressures() },
  }),
  carriageTemperature: defineExtra({
    id: 0x06,
    name: 'carriageTemperature',
    reference: 'JT/T 808-2019 table 27',
    lengths: [2],
    fields: { carriageTemperatureC: signMagnitude() },
  }),
  overspeedArea: defineExtra({
    id: 0x11,
    name: 'overspeedArea',
    reference: 'JT/T 808-2013 table 28',
    lengths: [1, 5],
    fields: { locationType: AREA_TYPE, areaId: ifLeft(u32(), 4) },
  }),
  areaInOut: defineExtra({
    id: 0x12,
    name: 'areaInOut',
    reference: 'JT/T 808-2013 table 29',
    lengths: [6],
    fields: { locationType: AREA_TYPE, areaId: u32(), direction: u8() }, // direction 0 in, 1 out
  }),
  segmentTime: defineExtra({
    id: 0x13,
    name: 'segmentTime',
    reference: 'JT/T 808-2013 table 30',
    lengths: [7],
    fields: { segmentId: u32(), travelTimeS: u16(), result: u8() }, // result 0 too short, 1 too long
  }),
  /** Bits: 0 signal lost, 1 covered, 2 storage fault, 3 other video fault, 4 overload, 5 abnormal driving, 6 special recording full. */
  videoAlarm: defineExtra({
    id: 0x14,
    name: 'videoAlarm',
    reference: JT1078,
    lengths: [4],
    fields: { videoAlarm: u32() },
  }),
  /** Bit n = channel n + 1. */
  videoLoss: defineExtra({
    id: 0x15,
    name: 'videoLoss',
    reference: JT1078,
    lengths: [4],
    fields: { videoLossChannels: u32() },
  }),
  /** Bit n = channel n + 1. */
  videoCover: defineExtra({
    id: 0x16,
    name: 'videoCover',
    reference: JT1078,
    lengths: [4],
    fields: { videoCoverChannels: u32() },
  }),
  /** Bits 0-11 main storage 1-12, 12-15 backup 1-4. */
  storageFailure: defineExtra({
    id: 0x17,
    name: 'storageFailure',
    reference: JT1078,
    lengths: [2],
    fields: { storageFailure: u16() },
  }),
  /** Type bits: 0 fatigue, 1 phone, 2 smoking. The text gives length 2, the structure has three bytes. */
  abnormalDriving: defineExtra({
    id: 0x18,
    name: 'abnormalDriving',
    reference: JT1078,
    lengths: [2, 3],
    fields: { behaviourType: u16(), fatigueLevel: ifLeft(u8()) },
  }),
  vehicleSignals: defineExtra({
    id: 0x25,
    name: 'vehicleSignals',
    reference: 'JT/T 808-2013 table 31',
    lengths: [4],
    fields: { vehicleSignals: u32() },
  }),
  /** Bit 0 deep sleep, bit 1 sleep. */
  ioStatus: defineExtra({
    id: 0x2a,
    name: 'ioStatus',
    reference: 'JT/T 808-2013 table 32',
    lengths: [2],
    fields: { ioStatus: u16() },
  }),
  /** One DWORD with AD0 in its low half, so AD1 comes first on the wire. */
  analog: defineExtra({
    id: 0x2b,
    name: 'analog',
    reference: TABLE_27,
    lengths: [4],
    fields: { ad1: u16(), ad0: u16() },
  }),
  signalStrength: defineExtra({
    id: 0x30,
    name: 'signalStrength',
    reference: TABLE_27,
    lengths: [1],
    fields: { signalStrength: u8() },
  }),
  satellites: defineExtra({
    id: 0x31,
    name: 'satellites',
    reference: TABLE_27,
    lengths: [1],
    fields: { satellites: u8() },
  }),
  /** Advanced driver assistance: forward collision, lane departure, ... */
  adasAlarm: defineExtra({
    id: 0x64,
    name: 'adasAlarm',
    reference: 'T/JSATL 12-2017 table 4-15',
    lengths: withTag(31),
    fields: {
      ...alarmHead,
      type: u8(),
      level: u8(),
      frontSpeedKmh: u8(),
      frontDistance100ms: u8(),
      deviationType: u8(), // 1 left, 2 right
      signType: u8(), //      1 speed, 2 height, 3 weight
      signData: u8(),
      ...alarmPlace,
      ...lastTag,
    },
  }),
  /** Driver state: fatigue, phone, smoking, ... */
  dsmAlarm: defineExtra({
    id: 0x65,
    name: 'dsmAlarm',
    reference: 'T/JSATL 12-2017 table 4-17',
    lengths: withTag(31),
    fields: {
      ...alarmHead,
      type: u8(),
      level: u8(),
      fatigueLevel: u8(),
      reserved: bytes(4),
      ...alarmPlace,
      ...lastTag,
    },
  }),
  tpmsAlarm: defineExtra({
    id: 0x66,
    name: 'tpmsAlarm',
    reference: 'T/JSATL 12-2017 table 4-18',
    lengths: (length) => length >= 41,
    fields: { ...alarmHead, ...alarmPlace, tag: tagField(tpmsTagSize), wheels: wheels() },
  }),
  /** Blind spot: 1 rear, 2 left rear, 3 right rear. */
  bsdAlarm: defineExtra({
    id: 0x67,
    name: 'bsdAlarm',
    reference: 'T/JSATL 12-2017 table 4-20',
    lengths: withTag(25),
    fields: { ...alarmHead, type: u8(), ...alarmPlace, ...lastTag },
  }),
  /** Intense driving of other provinces: 1 harsh acceleration, 2 harsh braking, 3 harsh turn; what follows differs between them. */
  intenseDriving: defineExtra({
    id: 0x70,
    name: 'intenseDriving',
    reference: 'provincial supplements to T/JSATL 12-2017',
    lengths: (length) => length >= 47,
    fields: { ...alarmHead, type: u8(), detail: rest() },
  }),
};

const byId: ReadonlyMap<number, ExtraDefinition> = new Map(
  Object.values(extraDefinitions).map((definition): [number, ExtraDefinition] => [definition.id, definition]),
);

const EDITION: Edition = '2019'; // items are alike in all editions

function lengthFits(definition: ExtraDefinition, length: number): boolean {
  const { lengths } = definition;
  return typeof lengths === 'function' ? lengths(length) : lengths.includes(length);
}

/** Definition of an item id, if it is a standard one. */
export function extraById(id: number): ExtraDefinition | undefined {
  return byId.get(id);
}

/** Typed value of an item; undefined for another id, or when the length is not the standard one (vendors reuse ids). */
export function readExtra<F extends Fields>(definition: ExtraDefinition<F>, extra: Extra): ValuesOf<F> | undefined {
  if (extra.id !== definition.id || !lengthFits(definition, extra.bytes.length)) return undefined;
  return readExactly(definition.fields, extra.bytes, EDITION);
}

/** Typed value of the first item of its kind that has the standard form. */
export function findExtra<F extends Fields>(
  definition: ExtraDefinition<F>,
  extras: readonly Extra[],
): ValuesOf<F> | undefined {
  for (const extra of extras) {
    const values = readExtra(definition, extra);
    if (values !== undefined) return values;
  }
  return undefined;
}

/** Item with a typed value, for sending. */
export function makeExtra<F extends Fields>(definition: ExtraDefinition<F>, values: ValuesOf<F>): Extra {
  const writer = new Writer();
  const body: Readonly<Record<string, unknown>> = { ...values };
  writeFields(Object.entries(definition.fields), writer, body, EDITION);
  return { id: definition.id, bytes: writer.finish() };
}

/** Log form of an item: id, length, raw hex, and its named values when it is standard. */
export function describeExtra(extra: Extra): Record<string, unknown> {
  const raw = { id: hexId(extra.id, 2), length: extra.bytes.length, hex: extra.bytes.toString('hex').toUpperCase() };
  const definition = byId.get(extra.id);
  const values = definition === undefined ? undefined : readExtra(definition, extra);
  if (definition === undefined || values === undefined) return raw;
  return { ...raw, ...describeFields(Object.entries(definition.fields), values) };
}
