import { type Field, formatPlain, hexId, type OptionalField } from './field.ts';
import { countOf, u8, u16 } from './integers.ts';
import { countedList, inEditions, lookAhead } from './structure.ts';

/**
 * Creates the field for the part numbers of 0x8003 and 0x0005. The count is a BYTE in 2013 and a WORD in 2019, but some
 * 2019 implementations write a BYTE. The parity of the remaining length distinguishes them.
 */
export function packageIds(): Field<number[]> {
  const byteCounted = countedList(u8(), u16());
  const wordCounted = countedList(u16(), u16());
  return {
    ...byteCounted,
    type: 'BYTE n / WORD n, n x WORD',
    read: (reader, scope) => (reader.remaining % 2 === 1 ? byteCounted : wordCounted).read(reader, scope),
    write: (writer, value, scope) => (scope.edition === '2019' ? wordCounted : byteCounted).write(writer, value, scope),
  };
}

/**
 * Creates the field for the part numbers of 0x8800, which are present only if parts are missing: real terminals reject
 * a count of 0.
 */
export function retransmitIds(): Field<number[]> {
  const list = countedList(u8(), u16());
  return {
    ...list,
    read: (reader, scope) => (reader.remaining === 0 ? [] : list.read(reader, scope)),
    write: (writer, value, scope) => {
      if (value.length > 0 || scope.body['countPresent'] === true) list.write(writer, value, scope);
    },
  };
}

/** Creates a field that is true if a count byte follows at all, even a count of 0. */
export function countPresent(): OptionalField<boolean> {
  return lookAhead(
    (reader) => (reader.remaining > 0 ? true : undefined),
    [true],
    (out, _key, value) => {
      out['count_present'] = value;
    },
  );
}

/** One CAN frame of 0x0705. */
export interface CanItem {
  canId: number;
  canChannel: number;
  extendedFrame: boolean;
  /** True if the value is an average over the upload interval, not a sample. */
  averaged: boolean;
  data: Buffer;
}

/**
 * Creates a CAN frame field: DWORD id word (31 channel, 30 extended, 29 averaged, 28-0 id) and 8 bytes (JT/T 808-2013
 * table 79).
 */
export function canItem(): Field<CanItem> {
  return {
    type: 'DWORD, BYTE[8]',
    shape: {
      kind: 'object',
      fields: {
        canId: { kind: 'integer', min: 0, max: 0x1fff_ffff },
        canChannel: { kind: 'integer', min: 0, max: 1 },
        extendedFrame: { kind: 'constant', values: [false, true] },
        averaged: { kind: 'constant', values: [false, true] },
        data: { kind: 'bytes', min: 8, max: 8 },
      },
    },
    read(reader) {
      const word = reader.u32();
      return {
        canId: word & 0x1fff_ffff,
        canChannel: word >>> 31,
        extendedFrame: ((word >>> 30) & 1) === 1,
        averaged: ((word >>> 29) & 1) === 1,
        data: reader.take(8),
      };
    },
    write(writer, value) {
      const flags = value.canChannel * 4 + (value.extendedFrame ? 2 : 0) + (value.averaged ? 1 : 0);
      writer.uint(flags * 0x2000_0000 + value.canId, 4);
      writer.put(value.data);
    },
    format: (out, key, value) =>
      formatPlain(out, key, {
        can_id: hexId(value.canId, 8),
        can_channel: value.canChannel,
        extended_frame: value.extendedFrame,
        averaged: value.averaged,
        data_hex: value.data.toString('hex').toUpperCase(),
      }),
  };
}

/** Control item of 0x8500 in 2019: id and parameter bytes. */
export interface ControlItem {
  id: number;
  parameter: Buffer;
}

/** The only standard control item: doors, one byte, 0 lock, 1 open (the opposite of the 2013 flag). */
const doorControlId = 0x0001;

/**
 * Creates the field for the control items of 0x8500 (JT/T 808-2019). A vendor's item states no length, so it extends to
 * the end.
 */
export function controlItems(): Field<ControlItem[]> {
  const item: Field<ControlItem> = {
    type: 'WORD id, parameter',
    shape: {
      kind: 'object',
      fields: { id: { kind: 'constant', values: [doorControlId] }, parameter: { kind: 'bytes', min: 1, max: 1 } },
    },
    read(reader) {
      const id = reader.u16();
      return { id, parameter: id === doorControlId ? reader.take(1) : reader.takeRemaining() };
    },
    write(writer, value) {
      writer.uint(value.id, 2);
      writer.put(value.parameter);
    },
    format: (out, key, value) =>
      formatPlain(out, key, { id: hexId(value.id, 4), parameter_hex: value.parameter.toString('hex').toUpperCase() }),
  };
  const list = countedList(u16(), item);
  return {
    ...list,
    read(reader, scope) {
      // Some implementations omit the count.
      const isUncounted = reader.remaining === 3 && reader.bytes.readUInt16BE(reader.at) === doorControlId;
      return isUncounted ? [item.read(reader, scope)] : list.read(reader, scope);
    },
  };
}

/** Creates the second count that 2011 places after a list's count: the elements in this package. */
export function packageCount(list: string, count: Field<number> = u8()): OptionalField<number | undefined> {
  return inEditions(['2011'], countOf(list, count));
}
