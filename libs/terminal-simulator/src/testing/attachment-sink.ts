import net from 'node:net';
import {
  type AlarmTag,
  AttachmentSplitter,
  alarmAttachmentInfo,
  attachmentFileInfo,
  attachmentUploadComplete,
  attachmentUploadCompleteResponse,
  decodeBody,
  encodeBody,
  encodeFrame,
  type Frame,
  platformGeneralResponse,
} from '@fleet/jt808';

/** One list (0x1210) received by the sink. */
interface ReceivedList {
  alarmNo: string;
  infoType: number;
  tag: AlarmTag;
  files: { name: string; size: number }[];
  phone: string;
  header: string;
}

/** Small attachment server for the simulator's own tests: accepts everything and requests missing ranges. */
export class AttachmentSink {
  readonly lists: ReceivedList[] = [];
  /** Names in 0x1211 and 0x1212, in order of arrival. */
  readonly announcedNames: string[] = [];
  readonly completedNames: string[] = [];
  /** Received content of each file, and the number of received bytes. */
  readonly files = new Map<string, { content: Buffer; receivedMask: Uint8Array; receivedBytes: number }>();
  /** Sizes and offsets of data packets, in order of arrival. */
  readonly packets: { offset: number; length: number }[] = [];
  listResult = 0;
  connections = 0;
  readonly #openSockets = new Set<net.Socket>();
  readonly #server = net.createServer((socket) => this.#onConnection(socket));
  #serial = 0;

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#openSockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #onConnection(socket: net.Socket): void {
    this.connections += 1;
    this.#openSockets.add(socket);
    const splitter = new AttachmentSplitter();
    let latest: unknown = null;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#openSockets.delete(socket));
    socket.on('data', (chunk: Buffer) => {
      splitter.push(chunk, {
        onFrame: (frame) => this.#onFrame(socket, frame),
        onData: (packet, offset, data) => {
          if (packet !== latest) this.packets.push({ offset: packet.offset, length: packet.length });
          latest = packet;
          const file = this.files.get(packet.name);
          if (file === undefined) return;
          data.copy(file.content, offset);
          file.receivedMask.fill(1, offset, offset + data.length);
          file.receivedBytes += data.length;
        },
      });
    });
  }

  #onFrame(socket: net.Socket, frame: Frame): void {
    const { messageId, body } = frame;
    if (messageId === alarmAttachmentInfo.id) {
      const { alarmNo, infoType, tag, files } = decodeBody(alarmAttachmentInfo, Buffer.from(body));
      this.lists.push({ alarmNo, infoType, tag, files, phone: frame.phone, header: frame.header });
      for (const { name, size } of files)
        if (!this.files.has(name))
          this.files.set(name, { content: Buffer.alloc(size), receivedMask: new Uint8Array(size), receivedBytes: 0 });
      this.#reply(socket, frame, this.listResult);
    } else if (messageId === attachmentFileInfo.id) {
      this.announcedNames.push(decodeBody(attachmentFileInfo, body).name);
      this.#reply(socket, frame, 0);
    } else if (messageId === attachmentUploadComplete.id) this.#onComplete(socket, frame);
  }

  #onComplete(socket: net.Socket, frame: Frame): void {
    const { name, type } = decodeBody(attachmentUploadComplete, frame.body);
    this.completedNames.push(name);
    const receivedMask = this.files.get(name)?.receivedMask ?? new Uint8Array(1);
    const retransmit: { offset: number; length: number }[] = [];
    for (let offset = receivedMask.indexOf(0); offset !== -1; ) {
      const end = receivedMask.indexOf(1, offset);
      retransmit.push({ offset, length: (end === -1 ? receivedMask.length : end) - offset });
      offset = end === -1 ? -1 : receivedMask.indexOf(0, end);
    }
    const response = { name, type, result: retransmit.length === 0 ? 0 : 1, retransmit };
    this.#send(
      socket,
      frame,
      attachmentUploadCompleteResponse.id,
      encodeBody(attachmentUploadCompleteResponse, response),
    );
  }

  #reply(socket: net.Socket, frame: Frame, result: number): void {
    const body = { replySerial: frame.serial, replyId: frame.messageId, result };
    this.#send(socket, frame, platformGeneralResponse.id, encodeBody(platformGeneralResponse, body));
  }

  #send(socket: net.Socket, frame: Frame, messageId: number, body: Buffer): void {
    this.#serial += 1;
    socket.write(encodeFrame({ messageId, phone: frame.toAddress(), serial: this.#serial, body }));
  }
}
