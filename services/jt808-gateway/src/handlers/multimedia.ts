import {
  type Edition,
  encodeMessage,
  type Frame,
  multimediaUploadResponse,
  platformRetransmitRequest,
  type TerminalAddress,
} from '@fleet/jt808';

/** Maximum number of parts in one 0x8800. */
const maxPartNumbers = 125;

/**
 * Creates the 0x8800 that ends an upload of 0x0801. Returns null when 0x8001 is the response: the body is too short for
 * an id, or it is a part other than the last (2011 numbers parts in the body).
 */
export function createMultimediaResponse(upload: {
  edition: Edition;
  address: TerminalAddress;
  frame: Frame;
  body: Buffer;
}): ((serial: number) => Buffer) | null {
  const { edition, address, frame, body } = upload;
  if (body.length < 4) return null;
  if (edition === '2011' && body.length >= 16 && body.readUInt32BE(12) < body.readUInt32BE(8)) return null;
  const multimediaId = body.readUInt32BE(0);
  const response = { multimediaId, retransmitIds: [], replySerial: frame.serial };
  return (serial) =>
    Buffer.concat(encodeMessage(multimediaUploadResponse, response, { edition, phone: address, serial }));
}

/**
 * Creates a request for missing parts: 0x8800 for a picture with a known id, otherwise 0x8003. Returns null when the
 * edition has no such message.
 */
export function createRetransmitRequest(request: {
  edition: Edition;
  address: TerminalAddress;
  messageId: number;
  originalSerial: number;
  packageIds: readonly number[];
  multimediaId: number | null;
}): ((serial: number) => Buffer) | null {
  const { edition, address, multimediaId, originalSerial } = request;
  if (request.messageId === 0x0801 && multimediaId !== null && !request.packageIds.includes(1)) {
    const body = {
      multimediaId,
      retransmitIds: request.packageIds.slice(0, maxPartNumbers),
      replySerial: originalSerial,
    };
    return (serial) =>
      Buffer.concat(encodeMessage(multimediaUploadResponse, body, { edition, phone: address, serial }));
  }
  if (edition === '2011') return null;
  const body = { originalSerial, packageIds: [...request.packageIds] };
  return (serial) => Buffer.concat(encodeMessage(platformRetransmitRequest, body, { edition, phone: address, serial }));
}
