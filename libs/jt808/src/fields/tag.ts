import { BodyError, EncodeError } from '../errors.ts';
import { Reader } from '../reader.ts';
import { gbkLength } from '../text.ts';
import { type Field, formatFields, readFields, snakeCase, type ValuesOf, writeFields } from './field.ts';
import { u8 } from './integers.ts';
import { cameraTime, fixedText, optionalRemaining } from './text.ts';

/** Alarm tag sizes by province: Jiangsu and Hunan, Guangdong, Sichuan 2019, Heilongjiang. */
export const tagSizes = [16, 40, 39, 38] as const;

const tagFields = {
  terminalId: fixedText(7),
  time: cameraTime(),
  seq: u8(),
  attachmentCount: u8(),
  reserved: optionalRemaining(),
};
const longTagFields = { ...tagFields, terminalId: fixedText(30) };
const tagEntries = Object.entries(tagFields);
const longTagEntries = Object.entries(longTagFields);

/**
 * Alarm tag (T/JSATL 12-2017 table 4-16), which identifies an alarm and its attachments. Provinces differ in the width
 * of the terminal id (7 or 30 bytes; absent here = the width that fits) and in the reserved bytes after it.
 */
export interface AlarmTag extends Omit<ValuesOf<typeof tagFields>, 'reserved'> {
  reserved: Buffer;
  terminalIdLength?: 7 | 30 | undefined;
  /**
   * The tag as received, to be returned unchanged whatever a vendor has put into it. If present, it is written instead
   * of the fields.
   */
  raw?: Buffer | undefined;
}

/** Reads a tag of 16, 38, 39 or 40 bytes; throws BodyError for another size. */
export function readAlarmTag(raw: Buffer): AlarmTag {
  if (!tagSizes.some((size) => size === raw.length)) throw new BodyError(`a tag cannot have ${raw.length} bytes`);
  const terminalIdLength = raw.length >= 38 ? 30 : 7;
  const tag = readFields(terminalIdLength === 30 ? longTagEntries : tagEntries, new Reader(raw), '2013');
  return withRaw({ reserved: Buffer.alloc(0), ...tag, terminalIdLength }, raw);
}

/** Adds `raw` as a non-enumerable property, so that two tags with the same fields are equal. */
const withRaw = (tag: object, raw: Buffer): AlarmTag =>
  Object.defineProperty(tag, 'raw', { value: raw }) as unknown as AlarmTag;

/** Creates an alarm tag field whose size depends on the remaining bytes; `readSize` returns it. */
export function tagField(
  readSize: (reader: Reader) => number,
  idLengths: readonly (7 | 30)[] = [7, 30],
): Field<AlarmTag> {
  return {
    type: 'BYTE[16/38/39/40]',
    shape: {
      kind: 'object',
      fields: {
        terminalId: { kind: 'text', maxBytes: 7 },
        time: { kind: 'cameraTime' },
        seq: { kind: 'integer', min: 0, max: 255 },
        attachmentCount: { kind: 'integer', min: 0, max: 255 },
        reserved: { kind: 'bytes', min: 1, max: 1 },
        terminalIdLength: { kind: 'constant', values: idLengths },
      },
    },
    read(reader, scope) {
      const size = readSize(reader);
      const terminalIdLength = size >= 38 ? 30 : 7;
      const part = reader.takeReader(size);
      const raw = part.bytes.subarray(part.at, part.end);
      const tag = readFields(terminalIdLength === 30 ? longTagEntries : tagEntries, part, scope.edition);
      return withRaw({ reserved: Buffer.alloc(0), ...tag, terminalIdLength }, raw);
    },
    write(writer, value, scope) {
      if (value === undefined) throw new EncodeError('missing');
      if (value.raw !== undefined) return writer.put(value.raw);
      const fittingLength = value.reserved.length === 1 && gbkLength(value.terminalId) <= 7 ? 7 : 30;
      const isLong = (value.terminalIdLength ?? fittingLength) === 30;
      writeFields(isLong ? longTagEntries : tagEntries, writer, { ...value }, scope.edition);
    },
    format(out, key, value) {
      out[snakeCase(key)] = {
        ...formatFields(tagEntries, { ...value }),
        reserved_hex: value.reserved.toString('hex').toUpperCase(),
      };
    },
  };
}
