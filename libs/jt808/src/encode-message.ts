import type { Edition } from './edition.ts';
import { EncodeError } from './errors.ts';
import { encodeFrame, maxFrameBodyBytes, type TerminalAddress } from './frame.ts';
import { type BodyOf, encodeBody, type MessageDefinition } from './message.ts';

/** Header of a message to send. The parts of a long message use this serial and the following ones. */
export interface MessageHeader {
  edition: Edition;
  /** Digits, or the address of a received frame, which responds in the terminal's own digits and header form. */
  phone: string | TerminalAddress;
  serial: number;
  protocolVersion?: number;
  encryption?: number;
  /** Longest body of one part: 1023 by the standard; some terminals need less. */
  maxBodyBytes?: number;
}

/**
 * Encodes a message to one frame, or to several parts if the body exceeds 1023 bytes. Retain the frames until the
 * response arrives: 0x0005 may request them again.
 */
export function encodeMessage<D extends MessageDefinition>(
  definition: D,
  body: BodyOf<D>,
  header: MessageHeader,
): Buffer[] {
  return encodeRawMessage(definition.id, encodeBody(definition, body, header.edition), header);
}

/** Encodes a message whose body is already in bytes. */
export function encodeRawMessage(messageId: number, body: Uint8Array, header: MessageHeader): Buffer[] {
  const { edition, phone, serial, protocolVersion, encryption, maxBodyBytes = maxFrameBodyBytes } = header;
  const common = {
    messageId,
    edition,
    phone,
    ...(protocolVersion === undefined ? {} : { protocolVersion }),
    ...(encryption === undefined ? {} : { encryption }),
  };
  if (body.length <= maxBodyBytes) return [encodeFrame({ ...common, serial, body })];
  const total = Math.ceil(body.length / maxBodyBytes);
  if (total > 0xffff) throw new EncodeError(`${body.length} bytes need more than 65535 parts`, 'body');
  return Array.from({ length: total }, (_, index) =>
    encodeFrame({
      ...common,
      serial: (serial + index) & 0xffff,
      body: body.subarray(index * maxBodyBytes, (index + 1) * maxBodyBytes),
      subpackage: { total, no: index + 1 },
    }),
  );
}
