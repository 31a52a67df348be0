import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  alarmAttachmentInfo,
  attachmentFileInfo,
  attachmentUploadComplete,
  attachmentUploadCompleteResponse,
  type BodyOf,
  decodeBody,
  type Edition,
  encodeAttachmentPacket,
  encodeBody,
  encodeRawMessage,
  type Frame,
  FrameSplitter,
  type MessageDefinition,
  Reassembler,
} from '@fleet/jt808';
import { waitFor } from '@fleet/testing';

interface ReceivedMessage {
  readonly messageId: number;
  readonly phone: string;
  readonly body: Buffer;
}

/** A terminal's raw connection to the attachment server. It does nothing on its own. */
export class AttachmentClient {
  readonly socket: Socket;
  readonly phone: string;
  readonly edition: Edition;
  readonly received: ReceivedMessage[] = [];
  readonly #reassembler = new Reassembler({ now: () => performance.now() });
  #serial = 7;

  private constructor(socket: Socket, phone: string, edition: Edition) {
    this.socket = socket;
    this.phone = phone;
    this.edition = edition;
    const splitter = new FrameSplitter();
    socket.on('data', (chunk: Buffer) => splitter.push(chunk, (frame) => this.#receive(frame)));
    socket.on('error', () => socket.destroy());
  }

  static async connect(port: number, phone: string, edition: Edition = '2013'): Promise<AttachmentClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    const client = new AttachmentClient(socket, phone, edition);
    await once(socket, 'connect');
    return client;
  }

  get isClosed(): boolean {
    return this.socket.destroyed || this.socket.readableEnded;
  }

  /** Encodes a message to frames. The serial of the last frame is `lastSerial`. */
  encodeFrames<D extends MessageDefinition>(definition: D, body: BodyOf<D>, maxBodyBytes = 1_023): Buffer {
    return this.encodeRawFrames(definition.id, encodeBody(definition, body, this.edition), maxBodyBytes);
  }

  encodeRawFrames(messageId: number, body: Uint8Array, maxBodyBytes = 1_023): Buffer {
    const header = { edition: this.edition, phone: this.phone, serial: this.#serial, maxBodyBytes };
    const frames = encodeRawMessage(messageId, body, header);
    this.#serial += frames.length;
    return Buffer.concat(frames);
  }

  get lastSerial(): number {
    return this.#serial - 1;
  }

  /** Sends the bytes of a message and returns the result of its 0x8001. */
  async sendAndWaitForResult(messageId: number, bytes: Buffer): Promise<number> {
    this.socket.write(bytes);
    const serial = this.lastSerial;
    let found: ReceivedMessage | undefined;
    await waitFor(() => {
      found = this.received.find(
        ({ messageId: id, body }) =>
          id === 0x8001 && body.readUInt16BE(0) === serial && body.readUInt16BE(2) === messageId,
      );
      return found !== undefined || this.isClosed;
    });
    return found?.body.readUInt8(4) ?? -1;
  }

  /** Sends 0x1210 and returns its result. */
  sendAlarmInfo(
    alarmNo: string,
    files: Record<string, number>,
    more: { infoType?: number; maxBodyBytes?: number } = {},
  ): Promise<number> {
    const body = {
      terminalIdLength: 7,
      terminalId: '0138077',
      tag: {
        terminalId: '0138077',
        time: '2026-11-22T10:00:00',
        seq: 1,
        attachmentCount: 2,
        reserved: Buffer.alloc(1),
      },
      alarmNo,
      infoType: more.infoType ?? 0,
      files: Object.entries(files).map(([name, size]) => ({ name, size })),
    };
    return this.sendAndWaitForResult(0x1210, this.encodeFrames(alarmAttachmentInfo, body, more.maxBodyBytes));
  }

  /** Sends 0x1211 and returns its result. */
  sendFileInfo(name: string, size: number, type = 0): Promise<number> {
    return this.sendAndWaitForResult(0x1211, this.encodeFrames(attachmentFileInfo, { name, type, size }));
  }

  sendData(name: string, offset: number, bytes: Uint8Array): void {
    this.socket.write(encodeAttachmentPacket(name, offset, bytes));
  }

  /** Sends 0x1212 and returns the next 0x9212; null if the connection ends first. */
  async sendFileComplete(
    name: string,
    size: number,
    type = 0,
  ): Promise<BodyOf<typeof attachmentUploadCompleteResponse> | null> {
    const receivedBefore = this.received.length;
    this.socket.write(this.encodeFrames(attachmentUploadComplete, { name, type, size }));
    const find = () => this.received.slice(receivedBefore).find(({ messageId }) => messageId === 0x9212);
    await waitFor(() => find() !== undefined || this.isClosed);
    const response = find();
    return response === undefined ? null : decodeBody(attachmentUploadCompleteResponse, response.body);
  }

  async waitForClose(): Promise<void> {
    await waitFor(() => this.isClosed);
  }

  #receive(frame: Frame): void {
    const { messageId, phone } = frame;
    if (frame.subpackage === null) {
      this.received.push({ messageId, phone, body: Buffer.from(frame.body) });
      return;
    }
    const outcome = this.#reassembler.push('server', frame);
    if (outcome.kind === 'complete') this.received.push({ messageId, phone, body: outcome.message.body });
  }
}
