import net from 'node:net';
import {
  type BodyOf,
  createTerminalAddress,
  decodeBody,
  type Edition,
  encodeBody,
  encodeFrame,
  type Frame,
  FrameSplitter,
  type MessageDefinition,
  platformGeneralResponse,
  registrationResponse,
  terminalAuthentication,
} from '@fleet/jt808';
import { waitFor } from '@fleet/testing';

/** One frame that the test platform received. */
export interface ReceivedFrame {
  messageId: number;
  serial: number;
  body: Buffer;
  phone: string;
  connection: number;
  subpackage: { total: number; no: number } | null;
}

interface Connection {
  socket: net.Socket;
  number: number;
  phone: string | null;
  splitter: FrameSplitter;
}

const neverAcknowledgedIds: ReadonlySet<number> = new Set([
  0x0001, 0x0100, 0x0104, 0x0107, 0x0201, 0x0500, 0x0608, 0x0700, 0x0802, 0x0805, 0x0a00, 0x1003,
]);

/**
 * Small platform for the simulator's own tests: registers all terminals, acknowledges messages as configured, sends
 * commands.
 */
export class TestPlatform {
  readonly received: ReceivedFrame[] = [];
  /** Splitters of all connections, with their drop counters. */
  readonly splitters: FrameSplitter[] = [];
  readonly edition: Edition;
  isAcknowledging = true;
  registrationResult = 0;
  authCode = 'CODE-1';
  #serial = 100;
  #connections = 0;
  readonly #openSockets = new Set<Connection>();
  readonly #server = net.createServer((socket) => this.#onConnection(socket));

  constructor(edition: Edition = '2013') {
    this.edition = edition;
  }

  /** Number of connections. */
  get connections(): number {
    return this.#connections;
  }

  get openConnections(): number {
    return this.#openSockets.size;
  }

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
    this.dropAll();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  dropAll(): void {
    for (const { socket } of this.#openSockets) socket.destroy();
  }

  /** Returns the frames of a message id. */
  framesWithId(messageId: number): ReceivedFrame[] {
    return this.received.filter((frame) => frame.messageId === messageId);
  }

  /** Waits for the first frame of an id from `from` (index in `received`) on. */
  async waitForFrame(messageId: number, from = 0, timeoutMs?: number): Promise<ReceivedFrame> {
    const find = () => this.received.slice(from).find((frame) => frame.messageId === messageId);
    return waitFor(find, `0x${messageId.toString(16)}`, timeoutMs);
  }

  /** Sends a command to a terminal; returns the serial. */
  sendCommand<D extends MessageDefinition>(phone: string, definition: D, body: BodyOf<D>): number {
    return this.sendRaw(phone, definition.id, encodeBody(definition, body, this.edition));
  }

  /** Sends a frame with this body to the latest connection of a terminal; returns the serial. */
  sendRaw(
    phone: string,
    messageId: number,
    body: Buffer,
    subpackage: { total: number; no: number } | null = null,
  ): number {
    const connection = [...this.#openSockets].findLast((candidate) => candidate.phone === phone);
    if (connection === undefined) throw new Error(`${phone} is not connected`);
    const serial = this.#serial;
    this.#serial += 1;
    const frame = { messageId, phone: createTerminalAddress(phone, this.edition), serial, body, subpackage };
    connection.socket.write(encodeFrame(frame));
    return serial;
  }

  #onConnection(socket: net.Socket): void {
    this.#connections += 1;
    const connection = { socket, number: this.#connections, phone: null, splitter: new FrameSplitter() };
    this.#openSockets.add(connection);
    this.splitters.push(connection.splitter);
    socket.on('data', (chunk: Buffer) => {
      connection.splitter.push(chunk, (frame) => this.#onFrame(connection, frame));
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#openSockets.delete(connection));
  }

  #onFrame(connection: Connection, frame: Frame): void {
    const { messageId, serial, phone, subpackage } = frame;
    connection.phone = phone;
    const body = Buffer.from(frame.body);
    this.received.push({ messageId, serial, body, phone, connection: connection.number, subpackage });
    if (messageId === 0x0100) this.#register(phone, serial);
    else if (messageId === 0x0102) this.#authenticate(phone, serial, body);
    else if (this.isAcknowledging && !neverAcknowledgedIds.has(messageId))
      this.acknowledge(phone, serial, messageId, 0);
  }

  /** Sends 0x8001. */
  acknowledge(phone: string, replySerial: number, replyId: number, result: number): void {
    this.sendCommand(phone, platformGeneralResponse, { replySerial, replyId, result });
  }

  #register(phone: string, replySerial: number): void {
    const { registrationResult: result, authCode } = this;
    this.sendCommand(phone, registrationResponse, { replySerial, result, ...(result === 0 ? { authCode } : {}) });
  }

  #authenticate(phone: string, serial: number, body: Buffer): void {
    const { authCode } = decodeBody(terminalAuthentication, body, this.edition);
    this.acknowledge(phone, serial, 0x0102, authCode === this.authCode ? 0 : 1);
  }
}
