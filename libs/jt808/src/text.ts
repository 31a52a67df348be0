import iconv from 'iconv-lite';
import { EncodeError } from './errors.ts';

/**
 * Charset for encoding. For the characters of GBK it differs only in the euro sign: one byte, 0x80, in Microsoft's GBK;
 * two bytes here, like every other non-ASCII character.
 */
const wireCharset = 'gb18030';

/** Encodes a text to GBK; throws EncodeError that names the characters that GBK lacks. */
export function encodeGbk(text: string): Buffer {
  if (isAscii(text)) return Buffer.from(text, 'latin1');
  const missing = findUnencodableInGbk(text);
  if (missing.length > 0) throw new EncodeError(`GBK cannot encode ${missing.join(' ')}`);
  return iconv.encode(text, wireCharset);
}

/** Decodes GBK as GB18030, its superset. NULs at both ends are padding and are removed; spaces stay. */
export function decodeGbk(bytes: Buffer): string {
  let start = 0;
  let end = bytes.length;
  while (start < end && bytes[start] === 0) start += 1;
  while (end > start && bytes[end - 1] === 0) end -= 1;
  for (let i = start; i < end; i += 1) {
    if ((bytes[i] as number) >= 0x80) return iconv.decode(bytes.subarray(start, end), 'gb18030');
  }
  return bytes.toString('latin1', start, end);
}

/** Returns the size of a text on the wire in bytes: one for an ASCII character, two for any other character of GBK. */
export function gbkLength(text: string): number {
  return isAscii(text) ? text.length : iconv.encode(text, wireCharset).length;
}

/** Returns the characters of a text that GBK lacks, each once, in order; empty if the text can be sent. */
export function findUnencodableInGbk(text: string): string[] {
  if (isAscii(text)) return [];
  const missing = new Set<string>();
  for (const character of text) {
    if (!isAscii(character) && iconv.decode(iconv.encode(character, 'gbk'), 'gb18030') !== character) {
      missing.add(character);
    }
  }
  return [...missing];
}

function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) >= 0x80) return false;
  return true;
}
