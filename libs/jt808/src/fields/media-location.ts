import type { OptionalField, ValuesOf } from './field.ts';
import { locationBase, locationBaseBytes } from './location.ts';
import { struct } from './structure.ts';

/** Start of a JPEG. At the offset of the location it shows that an older unit sends none. */
const jpegStartMarker = 0xffd8;

/**
 * Creates the field of the location block of 0x0801. Older units omit it: then the picture starts here, or too few
 * bytes remain for a location.
 */
export function mediaLocation(): OptionalField<ValuesOf<typeof locationBase>> {
  const location = struct(locationBase);
  return {
    optional: true,
    type: 'BYTE[28]',
    shape: { kind: 'optional', shape: location.shape, present: (scope) => scope.edition !== '2011' },
    read(reader, scope) {
      if (scope.edition === '2011' || reader.remaining < locationBaseBytes) return undefined;
      if (reader.bytes.readUInt16BE(reader.at) === jpegStartMarker) return undefined;
      return location.read(reader, scope);
    },
    write: (writer, value, scope) => (value === undefined ? undefined : location.write(writer, value, scope)),
    format: (out, key, value) => (value === undefined ? undefined : location.format(out, key, value)),
  };
}
