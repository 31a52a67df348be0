import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { closeCodes, comeBackReason } from './close-codes.ts';
import type { Stats } from './stats.ts';

/** Above this only the newest position of each vehicle is kept (platform-contract.md, section 16). */
const crowdedBytes = 1024 * 1024;
/** Above this the client is too slow. */
const fullBytes = 8 * 1024 * 1024;
/** Versions of notifications that are remembered: what a resume may answer, and some. */
const maxTold = 600;
const maxMissedPings = 2;

const asText = { binary: false, fin: true };

/** A notification by which repetitions are told. */
export interface Told {
  readonly id: number;
  readonly version: number;
}

/** A message of a live event. */
export interface Delivery {
  readonly type: string;
  readonly message: Buffer;
  /** Of a position: a newer one of the same vehicle may take its place. */
  readonly placeOf?: number;
  readonly told?: Told;
}

/** The sending end of one connection: what a slow reader does to it, what has to wait for a snapshot, whether the other end still lives. */
export class Connection {
  readonly id = randomBytes(12).toString('hex');
  readonly openedMs = Date.now();
  readonly #ws: WebSocket;
  readonly #socket: Duplex;
  readonly #stats: Stats;
  /** Newest positions that wait for room, or for the gate. */
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

  /** Bytes that wait for the client to read. */
  get queuedBytes(): number {
    return this.#ws.bufferedAmount + this.#heldBytes;
  }

  /** Sends an answer, at once. */
  send(type: string, message: Buffer): void {
    this.#write({ type, message });
  }

  /** Sends what a live event says, or a record that stands for one: held back while a snapshot is on its way, and once only where it is a notification. */
  deliver(delivery: Delivery): void {
    if (!this.isOpen) return;
    const { placeOf } = delivery;
    if (placeOf !== undefined) return this.#deliverPosition(placeOf, delivery);
    if (this.#holders === 0) return this.#tell(delivery);
    this.#held.push(delivery);
    this.#heldBytes += delivery.message.length;
    if (this.queuedBytes > fullBytes) this.#endSlow();
  }

  /** Sends a notification from the records, ahead of what is held. */
  catchUp(delivery: Delivery): void {
    this.#tell(delivery);
  }

  /** Holds live events back until the answer is called, so that what is read from records meanwhile comes first. */
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

  /** Resolves once much can be sent without making the client slow; false when the connection has ended. */
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

  /** Asks whether the other end lives, and ends a connection on which it has not said so twice. */
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

  /** Answers a ping of the client. */
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
