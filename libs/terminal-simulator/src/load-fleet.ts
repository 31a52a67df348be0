import net from 'node:net';
import {
  createTerminalAddress,
  type Edition,
  encodeBody,
  encodeFrame,
  type Frame,
  FrameSplitter,
  locationReport,
  registrationResponse,
  type TerminalAddress,
  terminalAuthentication,
  terminalRegistration,
} from '@fleet/jt808';
import { toCameraTime } from './camera-clock.ts';

/** Options of a load fleet. */
export interface LoadFleetOptions {
  host: string;
  port: number;
  terminals: number;
  /** Interval of the locations of each terminal; the terminals are spread evenly over it. */
  intervalMs: number;
  edition?: Edition | undefined;
  /** Number of the first terminal; the others follow consecutively. */
  firstPhone?: string | undefined;
  /** New connections per second. */
  connectRate?: number | undefined;
}

/** Counters of a load fleet. */
export interface LoadFleetCounters {
  online: number;
  reportsSent: number;
  reportsAcknowledged: number;
  /** Commands with a 0x0001 response. */
  commandsResponded: number;
  reconnects: number;
  connectErrors: number;
}

const tickMs = 100;
const reconnectDelayMs = 3000;
/** Offsets in the basic location: latitude, longitude and time are overwritten for each report. */
const latitudeOffset = 8;
const longitudeOffset = 12;
const timeOffset = 22;

/** Returns the number that follows `first` by `index`. */
export function addToPhone(first: string, index: number): string {
  return (BigInt(first) + BigInt(index)).toString().padStart(first.length, '0');
}

function encodeSharedLocation(edition: Edition): Buffer {
  return encodeBody(
    locationReport,
    {
      alarm: 0,
      status: 0b11,
      latitudeDeg: 22.54,
      longitudeDeg: 114.05,
      altitudeM: 20,
      speedKmh: 40,
      directionDeg: 90,
      time: toCameraTime(Date.now()),
      extras: [],
    },
    edition,
  );
}

/** One connection: little more than a socket, a splitter and a serial. */
class LoadTerminal {
  readonly phone: string;
  readonly #address: TerminalAddress;
  readonly #fleet: LoadFleet;
  #socket: net.Socket | null = null;
  #splitter = new FrameSplitter();
  #serial = 0;
  #authCode: string | null = null;
  isOnline = false;

  constructor(fleet: LoadFleet, phone: string) {
    this.#fleet = fleet;
    this.phone = phone;
    this.#address = createTerminalAddress(phone, fleet.edition);
  }

  connect(): void {
    const { host, port } = this.#fleet.options;
    const socket = net.connect({ host, port, noDelay: true });
    this.#socket = socket;
    this.#splitter = new FrameSplitter();
    socket.on('connect', () => this.#identify());
    socket.on('data', (chunk: Buffer) => this.#splitter.push(chunk, (frame) => this.#onFrame(frame)));
    socket.on('error', () => {
      this.#fleet.counters.connectErrors += 1;
    });
    socket.on('close', () => this.#onClose(socket));
  }

  close(): void {
    this.#socket?.destroy();
  }

  report(body: Buffer): void {
    this.#send(0x0200, body);
    this.#fleet.counters.reportsSent += 1;
  }

  #send(messageId: number, body: Buffer): void {
    this.#socket?.write(encodeFrame({ messageId, phone: this.#address, serial: this.#serial, body }));
    this.#serial = (this.#serial + 1) & 0xffff;
  }

  #identify(): void {
    const { edition } = this.#fleet;
    if (this.#authCode !== null) {
      const imei = edition === '2019' ? { imei: this.phone.slice(-15), softwareVersion: 'LIGHT-1' } : {};
      this.#send(0x0102, encodeBody(terminalAuthentication, { authCode: this.#authCode, ...imei }, edition));
      return;
    }
    const registration = {
      provinceId: 44,
      cityId: 300,
      manufacturerId: 'LIGHT',
      terminalModel: 'LIGHT',
      terminalId: this.phone.slice(-7),
      plateColor: 1,
      plateNo: '',
    };
    this.#send(0x0100, encodeBody(terminalRegistration, registration, edition));
  }

  #onFrame(frame: Frame): void {
    const { body, messageId } = frame;
    if (messageId === 0x8001) this.#onAcknowledged(body.readUInt16BE(2), body[4] ?? 0);
    else if (messageId === registrationResponse.id) this.#onRegistered(body);
    else if (frame.subpackage === null) this.#sendResponse(messageId, frame.serial);
  }

  #onAcknowledged(replyId: number, result: number): void {
    const { counters } = this.#fleet;
    if (replyId === 0x0200 && result === 0) counters.reportsAcknowledged += 1;
    if (replyId !== 0x0102) return;
    if (result !== 0) {
      this.#authCode = null;
      this.#identify();
    } else if (!this.isOnline) {
      this.isOnline = true;
      counters.online += 1;
    }
  }

  #onRegistered(body: Buffer): void {
    if (body[2] !== 0) return;
    this.#authCode = body.toString('latin1', 3);
    this.#identify();
  }

  /** Responds to every command with 0x0001 and success. */
  #sendResponse(messageId: number, serial: number): void {
    const body = Buffer.alloc(5);
    body.writeUInt16BE(serial, 0);
    body.writeUInt16BE(messageId, 2);
    this.#send(0x0001, body);
    this.#fleet.counters.commandsResponded += 1;
  }

  #onClose(socket: net.Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    if (this.isOnline) this.#fleet.counters.online -= 1;
    this.isOnline = false;
    this.#fleet.onConnectionLost(this);
  }
}

/**
 * Runs thousands of terminals in one process, for load tests. Each registers, authenticates, reports and responds with
 * 0x0001, nothing else. All share one timer and one location body; a terminal costs little more than its socket.
 */
export class LoadFleet {
  readonly options: LoadFleetOptions;
  readonly edition: Edition;
  readonly counters: LoadFleetCounters = {
    online: 0,
    reportsSent: 0,
    reportsAcknowledged: 0,
    commandsResponded: 0,
    reconnects: 0,
    connectErrors: 0,
  };
  readonly #terminals: LoadTerminal[];
  readonly #location: Buffer;
  #timer: NodeJS.Timeout | null = null;
  #connected = 0;
  #startedMs = 0;
  /** Reports due since the start; the fraction carries over. */
  #dueReports = 0;
  #nextIndex = 0;
  readonly #reconnectQueue: { terminal: LoadTerminal; atMs: number }[] = [];

  constructor(options: LoadFleetOptions) {
    const { firstPhone = '019000000000' } = options;
    this.options = options;
    this.edition = options.edition ?? (firstPhone.length === 20 ? '2019' : '2013');
    this.#location = encodeSharedLocation(this.edition);
    this.#terminals = Array.from(
      { length: options.terminals },
      (_unused, index) => new LoadTerminal(this, addToPhone(firstPhone, index)),
    );
  }

  /** Numbers of all terminals. */
  get phones(): string[] {
    return this.#terminals.map((terminal) => terminal.phone);
  }

  /** Connects all terminals at the connect rate and starts reporting. */
  start(): void {
    if (this.#timer !== null) return;
    this.#startedMs = performance.now();
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#tick();
  }

  /** Closes all connections. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    for (const terminal of this.#terminals) terminal.close();
    while (this.counters.online > 0) await new Promise(setImmediate);
  }

  /** Schedules the reconnection of a terminal whose connection was lost. */
  onConnectionLost(terminal: LoadTerminal): void {
    if (this.#timer !== null)
      this.#reconnectQueue.push({ terminal, atMs: performance.now() + reconnectDelayMs * (0.5 + Math.random()) });
  }

  #tick(): void {
    const now = performance.now();
    const { connectRate = 500, intervalMs, terminals } = this.options;
    const targetCount = Math.min(terminals, Math.ceil(((now - this.#startedMs + tickMs) / 1000) * connectRate));
    for (; this.#connected < targetCount; this.#connected += 1) this.#terminals[this.#connected]?.connect();
    this.#reconnect(now, Math.ceil((connectRate * tickMs) / 1000));
    this.#dueReports += (terminals * tickMs) / intervalMs;
    this.#updateLocationTime();
    for (; this.#dueReports >= 1; this.#dueReports -= 1) this.#reportNext();
  }

  #reconnect(now: number, maxCount: number): void {
    for (let count = 0; count < maxCount; count += 1) {
      const index = this.#reconnectQueue.findIndex((entry) => entry.atMs <= now);
      const [entry] = index === -1 ? [] : this.#reconnectQueue.splice(index, 1);
      if (entry === undefined) return;
      this.counters.reconnects += 1;
      entry.terminal.connect();
    }
  }

  /** Updates the time in the shared body once per tick. */
  #updateLocationTime(): void {
    const digits = toCameraTime(Date.now()).slice(2).replaceAll(/\D/g, '');
    this.#location.write(digits, timeOffset, 'hex');
  }

  #reportNext(): void {
    const index = this.#nextIndex;
    this.#nextIndex = (index + 1) % this.#terminals.length;
    const terminal = this.#terminals[index];
    if (terminal?.isOnline !== true) return;
    this.#location.writeUInt32BE(22_500_000 + ((index * 37) % 100_000), latitudeOffset);
    this.#location.writeUInt32BE(114_000_000 + ((index * 91) % 100_000), longitudeOffset);
    terminal.report(this.#location);
  }
}
