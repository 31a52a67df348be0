import { type AdditionalItem, formatAdditionalItem } from '../additional-items.ts';
import { BodyError } from '../errors.ts';
import { type Field, formatFields, type OptionalField, readFields, type ValuesOf, writeFields } from './field.ts';
import { altitude, coordinate, tenths, u16, u32 } from './integers.ts';
import { cameraTime, optionalRemaining } from './text.ts';

/** Basic part of a location, 28 bytes (JT/T 808-2013 table 23). */
export const locationBase = {
  alarm: u32(), //                 alarm bits, table 24
  status: u32(), //                status bits, table 25
  latitudeDeg: coordinate(2), //   negative = south (status bit 2)
  longitudeDeg: coordinate(3), //  negative = west (status bit 3)
  altitudeM: altitude(),
  speedKmh: tenths(),
  directionDeg: u16(), //          0-359, north 0, clockwise
  time: cameraTime(), //           GMT+8 by the standard
};

/** Smallest location body; the response to a shorter one is result 2. */
export const locationBaseBytes = 28;

/**
 * Creates the field for items to the end of the body. An item that overruns ends the list: it and the bytes after it
 * stay in `extrasTrailing`.
 */
function additionalItemsField(): Field<AdditionalItem[]> {
  return {
    type: 'n x (BYTE id, BYTE length, value)',
    shape: {
      kind: 'list',
      max: 6,
      item: {
        kind: 'object',
        fields: { id: { kind: 'integer', min: 0, max: 255 }, bytes: { kind: 'bytes', min: 0, max: 50 } },
      },
    },
    read(reader) {
      const extras: AdditionalItem[] = [];
      while (reader.remaining >= 2) {
        const length = reader.bytes[reader.at + 1] as number;
        if (length > reader.remaining - 2) break;
        const id = reader.u8();
        reader.u8();
        extras.push({ id, bytes: reader.take(length) });
      }
      return extras;
    },
    write(writer, value) {
      for (const extra of value) {
        writer.uint(extra.id, 1);
        writer.uint(extra.bytes.length, 1);
        writer.put(extra.bytes);
      }
    },
    format(out, _key, value) {
      out['extras'] = value.map(formatAdditionalItem);
    },
  };
}

/** Bytes after the last whole item. The sample values are ones that do not read as an item. */
const extrasTrailing: OptionalField<Buffer> = {
  ...optionalRemaining(),
  shape: { kind: 'constant', values: [undefined, Buffer.from([0x01]), Buffer.from([0x00, 0xdd, 0x00])] },
};

/** Fields of 0x0200 and of every message that carries a whole location report. */
export const locationFields = {
  ...locationBase,
  extras: additionalItemsField(),
  extrasTrailing, // bytes after the last whole item
};

/** Whole location report. */
export type LocationReport = ValuesOf<typeof locationFields>;

const locationEntries = Object.entries(locationFields);

/**
 * Creates the field for locations with two-byte length prefixes (JT/T 808-2013 table 77). An item that is not a
 * location is skipped by its length.
 */
export function batchItems(): Field<LocationReport[]> {
  return {
    type: 'n x (WORD length, location)',
    shape: { kind: 'list', max: 4, item: { kind: 'struct', fields: locationFields } },
    read(reader, scope) {
      const locations: LocationReport[] = [];
      while (reader.remaining >= 2) {
        const length = reader.bytes.readUInt16BE(reader.at);
        if (length > reader.remaining - 2) break;
        reader.u16();
        const item = reader.takeReader(length);
        try {
          locations.push(readFields(locationEntries, item, scope.edition) as LocationReport);
        } catch (error) {
          if (!(error instanceof BodyError)) throw error;
        }
      }
      return locations;
    },
    write(writer, value, scope) {
      for (const location of value) {
        const at = writer.length;
        writer.uint(0, 2);
        writeFields(locationEntries, writer, location, scope.edition);
        writer.patch(at, writer.length - at - 2, 2);
      }
    },
    format(out, _key, value) {
      out['items'] = value.map((location) => {
        const formatted = formatFields(locationEntries, location);
        return { ...formatted, length: wireLength(location) };
      });
    },
  };
}

function wireLength(location: LocationReport): number {
  const itemBytes = location.extras.reduce((sum, item) => sum + 2 + item.bytes.length, 0);
  return locationBaseBytes + itemBytes + (location.extrasTrailing?.length ?? 0);
}
