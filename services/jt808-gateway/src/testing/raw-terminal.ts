import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import {
  type BodyOf,
  createTerminalAddress,
  type Edition,
  encodeBody,
  encodeFrame,
  encodeRawMessage,
  type Frame,
  FrameSplitter,
  type MessageDefinition,
  terminalKey,
} from '@fleet/jt808';

/** Frame received from the gateway. */
export interface ReceivedFrame {
  readonly messageId: number;
  readonly serial: number;
  readonly phone: string;
  readonly header: string;
  readonly protocolVersion: number | null;
  readonly body: Buffer;
  readonly subpackage: { total: number; no: number } | null;
}

const locationBase = Buffer.from('000000000000000301587d9a06f47c7e000a012c005a261121080000', 'hex');

/** Test terminal: a socket that sends and receives frames and does nothing by itself. */
export class RawTerminal {
  readonly phone: string;
  readonly edition: Edition;
  readonly socket: Socket;
  readonly received: ReceivedFrame[] = [];
  /** Called for each received frame, if set. */
  onFrame: ((frame: ReceivedFrame) => void) | undefined;
  #serial = 0;
  #waiters: (() => void)[] = [];

  constructor(socket: Socket, phone: string, edition: Edition) {
    this.socket = socket;
    this.phone = phone;
    this.edition = edition;
    const splitter = new FrameSplitter();
    socket.on('data', (chunk) => splitter.push(chunk, (frame) => this.#receive(frame)));
    socket.on('error', () => undefined);
    socket.on('close', () => this.#notifyWaiters());
  }

  static async connect(port: number, phone: string, edition: Edition): Promise<RawTerminal> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new RawTerminal(socket, phone, edition);
  }

  /** Connects, registers and authenticates. */
  static async login(port: number, phone: string, edition: Edition = '2013'): Promise<RawTerminal> {
    const terminal = await RawTerminal.connect(port, phone, edition);
    await terminal.authenticate(await terminal.register());
    return terminal;
  }

  get isClosed(): boolean {
    return this.socket.destroyed || this.socket.readableEnded;
  }

  get nextSerial(): number {
    return this.#serial;
  }

  /** Sends a message with a raw body and returns its serial. */
  send(
    messageId: number,
    body: Uint8Array = Buffer.alloc(0),
    options: { serial?: number; phone?: string; encryption?: number } = {},
  ): number {
    const serial = options.serial ?? this.#serial;
    if (options.serial === undefined) this.#serial = (this.#serial + 1) & 0xffff;
    this.socket.write(this.buildFrame(messageId, body, { ...options, serial }));
    return serial;
  }

  buildFrame(
    messageId: number,
    body: Uint8Array,
    options: { serial: number; phone?: string; encryption?: number },
  ): Buffer {
    return encodeFrame({ messageId, edition: this.edition, phone: this.phone, body, ...options });
  }

  sendMessage<D extends MessageDefinition>(definition: D, body: BodyOf<D>): number {
    return this.send(definition.id, encodeBody(definition, body, this.edition));
  }

  /** Builds the parts of a message that is split whatever its size, without sending them. */
  buildParts(messageId: number, body: Buffer, maxBodyBytes: number): { serial: number; bytes: Buffer }[] {
    const first = this.#serial;
    const header = {
      edition: this.edition,
      phone: createTerminalAddress(this.phone, this.edition),
      serial: first,
      maxBodyBytes,
    };
    const frames = encodeRawMessage(messageId, body, header);
    this.#serial = (first + frames.length) & 0xffff;
    return frames.map((bytes, index) => ({ serial: (first + index) & 0xffff, bytes }));
  }

  /** Registers and returns the code. */
  async register(): Promise<string> {
    const serial = this.send(0x0100, buildRegistration(this.edition));
    const reply = await this.waitForFrame(0x8100, (frame) => frame.body.readUInt16BE(0) === serial);
    if (reply.body[2] !== 0) throw new Error(`registration refused with ${reply.body[2]}`);
    return reply.body.subarray(3).toString('latin1').replace(/\0+$/, '');
  }

  /** Authenticates and returns the result. */
  async tryAuthenticate(code: string): Promise<number> {
    const serial = this.send(0x0102, buildAuthentication(code, this.edition));
    return this.waitForResult(serial, 0x0102);
  }

  async authenticate(code: string): Promise<void> {
    const result = await this.tryAuthenticate(code);
    if (result !== 0) throw new Error(`authentication refused with ${result}`);
  }

  buildLocation(marker = 0): Buffer {
    const body = Buffer.concat([locationBase, Buffer.from([0x01, 4, 0, 0, 0, 0])]);
    body.writeUInt32BE(marker, body.length - 4);
    return body;
  }

  /** Returns the result of the 0x8001 that acknowledges a message. */
  async waitForResult(serial: number, messageId: number, timeoutMs = 15_000): Promise<number> {
    const reply = await this.waitForFrame(
      0x8001,
      (frame) => frame.body.readUInt16BE(0) === serial && frame.body.readUInt16BE(2) === messageId,
      timeoutMs,
    );
    return reply.body.readUInt8(4);
  }

  /** Responds to a command with 0x0001. */
  sendGeneralResponse(frame: ReceivedFrame, result = 0): void {
    const body = Buffer.from([
      frame.serial >> 8,
      frame.serial & 0xff,
      frame.messageId >> 8,
      frame.messageId & 0xff,
      result,
    ]);
    this.send(0x0001, body);
  }

  /** Waits for the next frame of a kind and removes it from the received frames. */
  async waitForFrame(
    messageId: number,
    matches: (frame: ReceivedFrame) => boolean = () => true,
    timeoutMs = 15_000,
  ): Promise<ReceivedFrame> {
    const takeMatching = (): ReceivedFrame | undefined => {
      const position = this.received.findIndex((frame) => frame.messageId === messageId && matches(frame));
      return position === -1 ? undefined : this.received.splice(position, 1)[0];
    };
    const deadlineMs = performance.now() + timeoutMs;
    for (;;) {
      const frame = takeMatching();
      if (frame !== undefined) return frame;
      if (this.isClosed) throw new Error(`closed before 0x${messageId.toString(16)} arrived`);
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw new Error(`no 0x${messageId.toString(16)} within ${timeoutMs} ms`);
      await this.#waitForChange(leftMs);
    }
  }

  async waitForClose(timeoutMs = 15_000): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    while (!this.isClosed) {
      const leftMs = deadlineMs - performance.now();
      if (leftMs <= 0) throw new Error(`still open after ${timeoutMs} ms`);
      await this.#waitForChange(leftMs);
    }
  }

  close(): void {
    this.socket.destroy();
  }

  #waitForChange(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#waiters.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #receive(frame: Frame): void {
    const { messageId, serial, phone, header, protocolVersion, subpackage } = frame;
    const body = Buffer.from(frame.body);
    const received = { messageId, serial, phone, header, protocolVersion, subpackage, body };
    this.received.push(received);
    this.onFrame?.(received);
    this.#notifyWaiters();
  }

  #notifyWaiters(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

/** Builds 0x0100 for each edition, independently of the codec. */
function buildRegistration(edition: Edition): Buffer {
  const sizes = { '2011': [5, 8, 7], '2013': [5, 20, 7], '2019': [11, 30, 30] }[edition];
  const [manufacturer = 0, model = 0, id = 0] = sizes;
  return Buffer.concat([
    Buffer.from([0, 44, 1, 44]),
    Buffer.alloc(manufacturer, 'M'),
    Buffer.alloc(model, 'T'),
    Buffer.alloc(id, '7'),
    Buffer.from([1]),
    Buffer.from('B12345'),
    ...(edition === '2011' ? [Buffer.from([0])] : []),
  ]);
}

/** Builds 0x0102 for each edition, independently of the codec. */
function buildAuthentication(code: string, edition: Edition): Buffer {
  const text = Buffer.from(code, 'latin1');
  if (edition === '2011') return Buffer.concat([text, Buffer.from([0])]);
  if (edition === '2013') return text;
  return Buffer.concat([Buffer.from([text.length]), text, Buffer.from('123456789012345'), Buffer.alloc(20)]);
}

let lastPhone = Math.floor(Math.random() * 1e8) * 1000;

/** Returns a number that no other test uses: 12 digits, or 20 for 2019. */
export function uniquePhone(edition: Edition = '2013'): string {
  lastPhone = (lastPhone + 1) % 1e11;
  return `1${String(lastPhone).padStart(11, '0')}`.padStart(edition === '2019' ? 20 : 12, '0');
}

/** Returns the canonical number. */
export function canonicalNumber(phone: string): string {
  const key = terminalKey(phone);
  if (key === null) throw new Error(`${phone} is not a terminal number`);
  return key;
}
