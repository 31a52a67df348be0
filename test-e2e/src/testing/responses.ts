/** Identifies the command that is replied to: its id and serial are repeated. */
interface ReceivedCommand {
  readonly messageId: number;
  readonly serial: number;
}

/** Creates a 0x0001 with a result, for a terminal to send (JT/T 808-2013 table 4). */
export function createGeneralResponse(command: ReceivedCommand, result = 0): { messageId: number; body: Buffer } {
  const body = Buffer.alloc(5, result);
  body.writeUInt16BE(command.serial, 0);
  body.writeUInt16BE(command.messageId, 2);
  return { messageId: 0x0001, body };
}

/** Creates a 0x1206, the end of an upload (JT/T 1078-2016 table 27): the serial of the 0x9206, and 0 for success. */
export function createUploadCompletion(request: ReceivedCommand, result: 0 | 1): { messageId: number; body: Buffer } {
  const body = Buffer.alloc(3, result);
  body.writeUInt16BE(request.serial, 0);
  return { messageId: 0x1206, body };
}
