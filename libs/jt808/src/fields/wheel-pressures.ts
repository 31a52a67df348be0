import type { Field } from './field.ts';

/** Value for a wheel that has no tyre, or whose tyre has no sensor. */
const noTyreByte = 0xff;
const wheelCount = 30;
const wheelPressureShape = { kind: 'constant', values: [null, 0, 1, 127, 254] } as const;

/** Creates a field of one byte per wheel; null where there is no tyre. */
export function wheelPressures(): Field<(number | null)[]> {
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
