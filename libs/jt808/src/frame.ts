import { type Edition, type HeaderForm, toHeaderForm } from './edition.ts';
import { EncodeError } from './errors.ts';
import { packPhone, phoneBytesByHeader, unpackDigits } from './terminal-number.ts';

/** Delimits frames: the end of one and the start of the next. */
export const frameFlag = 0x7e;
/** Starts an escape: 7D 01 is 7D, 7D 02 is 7E. */
export const escapeByte = 0x7d;
/** Longest body of one frame: ten bits of the properties word. */
export const maxFrameBodyBytes = 1023;
/** Longest frame between its flags: 21 + 1023 + 1 bytes, each of them escaped. */
export const maxWireBytes = 2 * (21 + maxFrameBodyBytes + 1);

/** Part of a message that was split over several frames; numbered from 1. */
export interface Subpackage {
  total: number;
  no: number;
}

/** Address of a response: the number in the terminal's own digits, and the header form that the terminal uses. */
export interface TerminalAddress {
  readonly header: HeaderForm;
  readonly protocolVersion: number | null;
  readonly phoneBytes: Uint8Array;
}

/**
 * Represents one received frame (JT/T 808-2019 table 2): a view on the unescaped bytes from the header to the check
 * byte, decoded on demand. It shares memory with the read; copy data that is retained after the callback.
 */
export class Frame {
  readonly data: Buffer;
  readonly messageId: number;
  readonly header: HeaderForm;
  readonly properties: number;
  readonly bodyStart: number;
  /** Tolerated deviation: bit 14 is set although the header is the short one. */
  readonly quirk: '2013_header_with_version_bit' | undefined;
  #phone: string | undefined;

  constructor(data: Buffer, messageId: number, properties: number, header: HeaderForm, bodyStart: number) {
    this.data = data;
    this.messageId = messageId;
    this.properties = properties;
    this.header = header;
    this.bodyStart = bodyStart;
    this.quirk = header === '2013' && (properties & 0x4000) !== 0 ? '2013_header_with_version_bit' : undefined;
    this.#phone = undefined;
  }

  /** Version byte of a 2019 header; otherwise null. */
  get protocolVersion(): number | null {
    return this.header === '2019' ? (this.data[4] ?? 0) : null;
  }

  /** Offset of the packed terminal number in `data`. */
  get phoneStart(): number {
    return this.header === '2019' ? 5 : 4;
  }

  /** Length of the packed terminal number. */
  get phoneLength(): 6 | 10 {
    return phoneBytesByHeader[this.header];
  }

  /** Terminal number, 12 or 20 digits as on the wire. Decoded once, on demand. */
  get phone(): string {
    this.#phone ??= unpackDigits(this.data, this.phoneStart, this.phoneLength);
    return this.#phone;
  }

  /** Header serial, which a response must repeat. */
  get serial(): number {
    const at = this.phoneStart + this.phoneLength;
    return ((this.data[at] ?? 0) << 8) | (this.data[at + 1] ?? 0);
  }

  /** Bits 10-12 of the properties: 0 none, 1 RSA, others reserved. */
  get encryption(): number {
    return (this.properties >> 10) & 7;
  }

  /** Part number and total if the message was split. */
  get subpackage(): Subpackage | null {
    if ((this.properties & 0x2000) === 0) return null;
    const at = this.phoneStart + this.phoneLength + 2;
    return { total: this.data.readUInt16BE(at), no: this.data.readUInt16BE(at + 2) };
  }

  /** Actual body length (equal to the declared one unless the splitter trusts the actual size). */
  get bodyLength(): number {
    return this.data.length - 1 - this.bodyStart;
  }

  /** Body, without a copy. */
  get body(): Buffer {
    return this.data.subarray(this.bodyStart, this.data.length - 1);
  }

  /** Returns true if the frame carries this packed number; for sessions that store the number of their first frame. */
  hasPhone(phoneBytes: Uint8Array): boolean {
    if (phoneBytes.length !== this.phoneLength) return false;
    const { data, phoneStart } = this;
    for (let i = phoneBytes.length - 1; i >= 0; i -= 1) {
      if (data[phoneStart + i] !== phoneBytes[i]) return false;
    }
    return true;
  }

  /** Returns the address for responses, with its own copy of the number. */
  toAddress(): TerminalAddress {
    const phoneBytes = Buffer.from(this.data.subarray(this.phoneStart, this.phoneStart + this.phoneLength));
    return { header: this.header, protocolVersion: this.protocolVersion, phoneBytes };
  }
}

/** Creates an address from a terminal number, for use without a received frame. */
export function createTerminalAddress(phone: string, edition: Edition, protocolVersion = 1): TerminalAddress {
  const header = toHeaderForm(edition);
  return {
    header,
    protocolVersion: header === '2019' ? protocolVersion : null,
    phoneBytes: packPhone(phone, header),
  };
}

/** Content of one frame; `phone` may be digits or an address taken from a received frame. */
export interface FrameInput {
  messageId: number;
  /** Header form; ignored if `phone` is an address, which has its own. */
  edition?: Edition;
  phone: string | TerminalAddress;
  serial: number;
  body?: Uint8Array;
  encryption?: number;
  subpackage?: Subpackage | null;
  /** Version byte of the 2019 header; defaults to 1. */
  protocolVersion?: number;
}

const scratch = Buffer.allocUnsafeSlow(21 + maxFrameBodyBytes + 1);
const emptyBuffer = Buffer.alloc(0);

/**
 * Encodes a frame with flags, check byte and escapes, ready for the wire. Use `encodeMessage` for bodies above 1023
 * bytes.
 */
export function encodeFrame(input: FrameInput): Buffer {
  const length = writePlain(input);
  let escapes = 0;
  for (let i = 0; i < length; i += 1) {
    const byte = scratch[i];
    if (byte === frameFlag || byte === escapeByte) escapes += 1;
  }
  const wire = Buffer.allocUnsafe(length + escapes + 2);
  wire[0] = frameFlag;
  let at = 1;
  for (let i = 0; i < length; i += 1) at = writeEscaped(wire, at, scratch[i] ?? 0);
  wire[at] = frameFlag;
  return wire;
}

/** Fills the scratch buffer with header, body and check byte; returns their length. */
function writePlain(input: FrameInput): number {
  const body = input.body ?? emptyBuffer;
  if (body.length > maxFrameBodyBytes) throw new EncodeError(`${body.length} bytes do not fit in one frame`, 'body');
  const edition = input.edition ?? '2013';
  const address =
    typeof input.phone === 'string'
      ? createTerminalAddress(input.phone, edition, input.protocolVersion ?? 1)
      : input.phone;
  const { subpackage } = input;
  const is2019 = address.header === '2019';
  let properties = body.length | (((input.encryption ?? 0) & 7) << 10);
  if (subpackage) properties |= 0x2000;
  if (is2019) properties |= 0x4000;
  let at = scratch.writeUInt16BE(input.messageId, 0);
  at = scratch.writeUInt16BE(properties, at);
  if (is2019) at = scratch.writeUInt8(input.protocolVersion ?? address.protocolVersion ?? 1, at);
  scratch.set(address.phoneBytes, at);
  at = scratch.writeUInt16BE(input.serial & 0xffff, at + address.phoneBytes.length);
  if (subpackage) {
    at = scratch.writeUInt16BE(subpackage.total, at);
    at = scratch.writeUInt16BE(subpackage.no, at);
  }
  scratch.set(body, at);
  at += body.length;
  let check = 0;
  for (let i = 0; i < at; i += 1) check ^= scratch[i] ?? 0;
  scratch[at] = check;
  return at + 1;
}

/** Writes one byte, escaped where needed; returns the next offset. */
export function writeEscaped(target: Uint8Array, offset: number, byte: number): number {
  if (byte === frameFlag || byte === escapeByte) {
    target[offset] = escapeByte;
    target[offset + 1] = byte - 0x7c;
    return offset + 2;
  }
  target[offset] = byte;
  return offset + 1;
}
