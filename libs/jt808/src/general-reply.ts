import { frameFlag, type TerminalAddress, writeEscaped } from './frame.ts';

/** Result of a general reply, 0x0001 and 0x8001 (JT/T 808-2019 tables 4 and 5). */
export const ReplyResult = {
  success: 0,
  failure: 1,
  incorrect: 2,
  unsupported: 3,
  /** 0x8001 only, from 2013: alarm handling confirmed. */
  alarmConfirmed: 4,
} as const;

/** Maximum size of one general reply: a 2019 header and the body, with each byte escaped. */
export const generalReplyMaxBytes = 2 + 2 * (17 + 5 + 1);

/**
 * Writes a whole 0x8001 frame at `offset` and returns the offset after it, so that the acknowledgements of one read are
 * sent in one write. Allocates nothing; the caller must leave `generalReplyMaxBytes` free.
 */
export function writeGeneralReply(
  target: Uint8Array,
  offset: number,
  address: TerminalAddress,
  serial: number,
  replySerial: number,
  replyId: number,
  result: number,
): number {
  const is2019 = address.header === '2019';
  const properties = is2019 ? 0x40 : 0x00;
  target[offset] = frameFlag;
  target[offset + 1] = 0x80;
  target[offset + 2] = 0x01;
  target[offset + 3] = properties;
  target[offset + 4] = 0x05;
  let at = offset + 5;
  let check = 0x80 ^ 0x01 ^ properties ^ 0x05;
  if (is2019) {
    const version = address.protocolVersion ?? 1;
    check ^= version;
    at = writeEscaped(target, at, version);
  }
  const { phoneBytes } = address;
  for (let i = 0; i < phoneBytes.length; i += 1) {
    const byte = phoneBytes[i] as number;
    check ^= byte;
    at = writeEscaped(target, at, byte);
  }
  check ^= (serial >> 8) ^ serial ^ (replySerial >> 8) ^ replySerial ^ (replyId >> 8) ^ replyId ^ result;
  at = writeEscaped(target, at, (serial >> 8) & 0xff);
  at = writeEscaped(target, at, serial & 0xff);
  at = writeEscaped(target, at, (replySerial >> 8) & 0xff);
  at = writeEscaped(target, at, replySerial & 0xff);
  at = writeEscaped(target, at, (replyId >> 8) & 0xff);
  at = writeEscaped(target, at, replyId & 0xff);
  at = writeEscaped(target, at, result & 0xff);
  at = writeEscaped(target, at, check & 0xff);
  target[at] = frameFlag;
  return at + 1;
}
