import { type Edition, messageById, tryDecodeBody } from '@fleet/jt808';

/** Reply serial and total before the items of a 0x1205. */
const listHeaderBytes = 6;
const recordingBytes = 28;

/** Returns the defect of a specific response's body, or null when all fields can be decoded. */
export function validateResponse(messageId: number, body: Buffer, edition: Edition): string | null {
  if (messageId === 0x1205) return validateRecordings(body);
  const definition = messageById(messageId, 'terminal');
  if (definition === undefined) return null;
  const decoded = tryDecodeBody(definition, body, edition);
  return decoded.ok ? null : decoded.error.message;
}

// A list may come in several messages, none of which matches the total. Whole items are sufficient.
function validateRecordings(body: Buffer): string | null {
  if (body.length < listHeaderBytes) return `0x1205 has ${body.length} bytes`;
  return (body.length - listHeaderBytes) % recordingBytes === 0 ? null : '0x1205 ends inside an item';
}

/** Counts the recordings in the 0x1205 messages of one query and returns the reported total. */
export function countRecordings(bodies: readonly Buffer[]): { items: number; total: number } {
  let items = 0;
  let total = 0;
  for (const body of bodies) {
    items += (body.length - listHeaderBytes) / recordingBytes;
    total = Math.max(total, body.readUInt32BE(2));
  }
  return { items, total };
}

/**
 * Joins all received messages into one 0x1205 body. Its total is the reported one, so that callers can detect an
 * incomplete list.
 */
export function joinRecordings(bodies: readonly Buffer[]): Buffer {
  const first = bodies[0] ?? Buffer.alloc(listHeaderBytes);
  const joined = Buffer.concat([first, ...bodies.slice(1).map((body) => body.subarray(listHeaderBytes))]);
  const { items, total } = countRecordings(bodies);
  joined.writeUInt32BE(Math.max(items, total), 2);
  return joined;
}
