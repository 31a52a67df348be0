import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { closeCodes, comeBackReason } from './close-codes.ts';
import type { Stats } from './stats.ts';

/** Above this size only the newest position of each vehicle is buffered. */
const crowdedBytes = 1024 * 1024;
/** Above this size the client is too slow. */
const fullBytes = 8 * 1024 * 1024;
/** Number of delivered notification versions that are stored: more than a resume can repeat. */
const maxTold = 600;
const maxMissedPings = 2;

const asText = { binary: false, fin: true };

/** Identifies repeated notifications. */
export interface LatestReadings {
  readonly id: number;
  readonly version: number;
}

/** A message of a live event. */
export interface Delivery {
  readonly type: string;
  readonly message: Buffer;
  /** A newer position of the vehicle may replace this one. */
  readonly placeOf?: number;
  readonly told?: LatestReadings;
}

/**
 * Sends the messages of one connection: backpressure of slow clients, buffering during a snapshot, and detection of
 * dead clients.
 */
export class Connection {
  readonly id = randomBytes(12).toString('hex');
  readonly openedMs = Date.now();
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #stats: Stats;
  /** Newest positions that wait for buffer space or for a snapshot. */
  readonly #parked = new Map<number, Delivery>();
  readonly #told = new Map<number, number>();
  #held: Delivery[] = [];
  #heldBytes = 0;
  #holders = 0;
  #missedPings = 0;

  constructor(ws: WebSocket, socket: Duplex, stats: Stats) {
    this.#ws = ws;
    this.#socket = socket;
    this.#stats = stats;
    const isAlive = (): void => {
      this.#missedPings = 0;
    };
    ws.on('pong', isAlive);
    ws.on('message', isAlive);
    ws.on('close', () => this.#forget());
    socket.on('drain', () => this.#unpark());
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  /** Bytes that the client has not read. */
  get queuedBytes(): number {
    return this.#ws.bufferedAmount + this.#heldBytes;
  }

  /** Sends a response immediately. */
  send(type: string, message: Buffer): void {
    this.#write({ type, message });
  }

  /** Sends a live event, or a record for it. Buffers it during a snapshot, and drops a repeated notification. */
  deliver(delivery: Delivery): void {
    if (!this.isOpen) return;
    const { placeOf } = delivery;
    if (placeOf !== undefined) return this.#deliverPosition(placeOf, delivery);
    if (this.#holders === 0) return this.#tell(delivery);
    this.#held.push(delivery);
    this.#heldBytes += delivery.message.length;
    if (this.queuedBytes > fullBytes) this.#endSlow();
  }

  /** Sends a notification from the records, before buffered events. */
  catchUp(delivery: Delivery): void {
    this.#tell(delivery);
  }

  /**
   * Buffers live events until the returned function is called, so that records that are read in the meantime come
   * first.
   */
  hold(): () => void {
    this.#holders += 1;
    let isHolding = true;
    return () => {
      if (!isHolding) return;
      isHolding = false;
      this.#holders -= 1;
      if (this.#holders === 0) this.#release();
    };
  }

  /** Resolves once much data can be sent; false when the connection has ended. */
  async room(): Promise<boolean> {
    while (this.isOpen && this.#ws.bufferedAmount > crowdedBytes / 2)
      await new Promise<void>((resolve) => {
        const end = (): void => {
          this.#socket.off('drain', end).off('close', end);
          resolve();
        };
        this.#socket.once('drain', end).once('close', end);
      });
    return this.isOpen;
  }

  /** Pings the client, and closes the connection after two pings without a response. */
  ping(): void {
    if (!this.isOpen) return;
    if (this.#missedPings >= maxMissedPings) {
      this.#stats.count(this.#stats.closed, 'silent');
      this.#ws.terminate();
      return;
    }
    this.#missedPings += 1;
    this.#ws.ping();
  }

  /** Replies to a ping of the client. */
  pong(data: Buffer): void {
    if (this.isOpen) this.#ws.pong(data);
  }

  close(code: number, reason: string): void {
    if (this.#ws.readyState !== this.#ws.OPEN) return;
    this.#stats.count(this.#stats.closed, String(code));
    this.#ws.close(code, reason);
    this.#forget();
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #deliverPosition(vehicleId: number, delivery: Delivery): void {
    if (this.#holders === 0 && this.#ws.bufferedAmount <= crowdedBytes) {
      this.#parked.delete(vehicleId);
      this.#write(delivery);
      return;
    }
    if (this.#parked.has(vehicleId)) this.#stats.droppedLocations += 1;
    this.#parked.set(vehicleId, delivery);
  }

  #release(): void {
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    for (const delivery of held) this.#tell(delivery);
    this.#unpark();
  }

  #unpark(): void {
    if (this.#holders > 0) return;
    for (const [vehicleId, delivery] of this.#parked) {
      if (!this.isOpen || this.#ws.bufferedAmount > crowdedBytes) return;
      this.#parked.delete(vehicleId);
      this.#write(delivery);
    }
  }

  #tell(delivery: Delivery): void {
    const { told } = delivery;
    if (told !== undefined) {
      const known = this.#told.get(told.id);
      if (known !== undefined && known >= told.version) return;
      this.#told.delete(told.id);
      this.#told.set(told.id, told.version);
      const [oldest] = this.#told.keys();
      if (this.#told.size > maxTold && oldest !== undefined) this.#told.delete(oldest);
    }
    this.#write(delivery);
  }

  #write({ type, message }: Pick<Delivery, 'type' | 'message'>): void {
    if (!this.isOpen) return;
    if (this.queuedBytes + message.length > fullBytes) {
      this.#endSlow();
      return;
    }
    this.#ws.send(message, asText);
    this.#stats.count(this.#stats.sent, type);
  }

  #endSlow(): void {
    this.close(closeCodes.tooSlow, comeBackReason('too slow'));
  }

  #forget(): void {
    this.#parked.clear();
    this.#told.clear();
    this.#held = [];
    this.#heldBytes = 0;
  }
}
