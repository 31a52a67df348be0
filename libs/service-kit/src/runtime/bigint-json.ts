import { randomUUID } from 'node:crypto';

/** Random, so that no text of a device or a caller can pass for a number. */
const marker = `${randomUUID()}:`;
const markedNumberPattern = new RegExp(`"${marker}(-?\\d+)"`, 'g');

/**
 * Returns the JSON text of a value; a bigint becomes a number with all its digits. JSON.stringify throws for a bigint,
 * and a double would round it.
 */
export function stringifyBigInt(value: unknown): string {
  let hasBigint = false;
  const text = JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part !== 'bigint') return part;
    hasBigint = true;
    return marker + String(part);
  });
  return hasBigint ? text.replaceAll(markedNumberPattern, '$1') : text;
}

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** An integer that a double may round. */
const largeInteger = /^-?\d{16,}$/;

/** Parses a valid JSON text; an integer of 16 digits or more becomes a bigint. */
export function parseBigInt(text: string): unknown {
  const marked = text.replaceAll(stringOrNumber, (token) => (largeInteger.test(token) ? `"${marker}${token}"` : token));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(marker) ? BigInt(value.slice(marker.length)) : value,
  );
}
