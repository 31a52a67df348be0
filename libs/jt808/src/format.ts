import { detectEdition, type Edition } from './edition.ts';
import { hexId } from './fields/index.ts';
import type { Frame } from './frame.ts';
import { formatBody, tryDecodeBody } from './message.ts';
import { messageById } from './registry.ts';

/** Returns the log form of a frame's header, with the keys of the reference's vectors. */
export function formatHeader(frame: Frame): Record<string, unknown> {
  return {
    message_id: hexId(frame.messageId, 4),
    phone: frame.phone,
    serial: frame.serial,
    body_length: frame.bodyLength,
    encryption: frame.encryption,
    protocol_version: frame.protocolVersion,
    subpackage: frame.subpackage,
    ...(frame.quirk === undefined ? {} : { quirk: frame.quirk }),
  };
}

/** Returns the log form of a whole body, known or unknown; a body that does not fit has an `error`. */
export function formatMessageBody(messageId: number, body: Buffer, edition: Edition): Record<string, unknown> {
  const definition = messageById(messageId);
  if (definition === undefined) return { raw_hex: body.toString('hex').toUpperCase() };
  const result = tryDecodeBody(definition, body, edition);
  if (result.ok) return formatBody(definition, result.body);
  return { error: result.error.message, raw_hex: body.toString('hex').toUpperCase() };
}

/** Returns the log form of a frame with its body; for a part of a split message, only the part's length. */
export function formatFrame(frame: Frame, edition: Edition = detectEdition(frame)): Record<string, unknown> {
  return { ...formatHeader(frame), body: formatFrameBody(frame, edition) };
}

function formatFrameBody(frame: Frame, edition: Edition): Record<string, unknown> {
  if (frame.subpackage !== null) return { part_length: frame.bodyLength };
  // The key is unknown, so the bytes cannot be interpreted.
  if (frame.encryption !== 0) return { raw_hex: frame.body.toString('hex').toUpperCase() };
  return formatMessageBody(frame.messageId, frame.body, edition);
}
