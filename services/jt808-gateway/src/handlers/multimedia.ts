import {
  type Edition,
  encodeMessage,
  type Frame,
  multimediaUploadResponse,
  platformRetransmitRequest,
  type TerminalAddress,
} from '@fleet/jt808';

/** Most part numbers in one 0x8800. */
const maxPartNumbers = 125;

/**
 * The 0x8800 that ends an upload of 0x0801; null when 0x8001 is the answer: a body too short for an id, or (2011, which numbers parts in the body) a
 * part that is not the last.
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

/** Asks for missing parts: a picture whose id is known by 0x8800, anything else by 0x8003. Null: the edition has no way to ask. */
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
