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
