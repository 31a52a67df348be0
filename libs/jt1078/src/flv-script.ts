import { createTag, type FlvTag } from './flv-tag.ts';

/** Value in onMetaData. */
type AmfValue = number | boolean | string;

const encodeText = (value: string): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 0xff]), bytes]);
};

function encodeAmf(value: AmfValue): Buffer {
  if (typeof value === 'string') return Buffer.concat([Buffer.from([2]), encodeText(value)]);
  if (typeof value === 'boolean') return Buffer.from([1, value ? 1 : 0]);
  const bytes = Buffer.alloc(9);
  bytes.writeDoubleBE(value, 1);
  return bytes;
}

/** Creates the script tag `onMetaData` with an AMF0 ECMA array. Omits undefined values. */
export function createScriptTag(values: Readonly<Record<string, AmfValue | undefined>>, timestampMs = 0): FlvTag {
  const entries = Object.entries(values).flatMap(([key, value]) => (value === undefined ? [] : [{ key, value }]));
  const count = Buffer.alloc(5);
  count[0] = 8;
  count.writeUInt32BE(entries.length, 1);
  return createTag('script', timestampMs, [
    encodeAmf('onMetaData'),
    count,
    ...entries.flatMap(({ key, value }) => [encodeText(key), encodeAmf(value)]),
    Buffer.from([0, 0, 9]),
  ]);
}
