import { defineAdditionalItem } from './additional-item-definition.ts';
import { BodyError } from './errors.ts';
import {
  altitude,
  bytes,
  cameraTime,
  type Field,
  formatFields,
  remainingBytes,
  struct,
  u8,
  u16,
  u32,
  unsignedCoordinate,
  type ValuesOf,
} from './fields/index.ts';
import { tagField, tagSizes } from './fields/tag.ts';
import type { Reader } from './reader.ts';

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

/** Items of T/JSATL 12: alarms of driver assistance and of tyre pressure. */
export const safetyAlarmItems = {
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
