import { randomBytes } from 'node:crypto';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { closeCodes, reconnectReason } from './close-codes.ts';
import { MessageBatch } from './message-batch.ts';
import type { Stats } from './stats.ts';

/** Above this size only the newest position of each vehicle is buffered. */
const softLimitBytes = 1024 * 1024;
/** Above this size the client is too slow. */
const hardLimitBytes = 8 * 1024 * 1024;
/** Number of delivered notification versions that are stored: more than a resume can repeat. */
const maxDeliveredVersions = 600;
const maxMissedPings = 2;

const asText = { binary: false, fin: true };

/** Identifies repeated notifications. */
interface NotificationVersion {
  readonly id: number;
  readonly version: number;
}

/** A message of a live event. */
export interface Delivery {
  readonly type: string;
  readonly message: Buffer;
  /** A newer position of the vehicle may replace this one. */
  readonly positionVehicleId?: number;
  readonly notification?: NotificationVersion;
}

/**
 * Sends the messages of one connection: backpressure of slow clients, buffering during a snapshot, and detection of
 * dead clients.
 */
export class Connection {
  readonly id = randomBytes(12).toString('hex');
  readonly openedMs = Date.now();
  readonly #ws: WebSocket;
  readonly #stats: Stats;
  /** Newest positions that wait for buffer space or for a snapshot. */
  readonly #waitingPositions = new Map<number, Delivery>();
  readonly #batch = new MessageBatch((message) => this.#write({ type: 'batch', message }));
  readonly #deliveredVersions = new Map<number, number>();
  readonly #drainListeners = new Set<() => void>();
  #deferred: Delivery[] = [];
  #deferredBytes = 0;
  #pauseCount = 0;
  #missedPings = 0;

  constructor(ws: WebSocket, socket: Duplex, stats: Stats) {
    this.#ws = ws;
    this.#stats = stats;
    const isAlive = (): void => {
      this.#missedPings = 0;
    };
    ws.on('pong', isAlive);
    ws.on('message', isAlive);
    ws.on('close', () => this.#clear());
    socket.on('drain', () => this.#onSent());
  }

  get isOpen(): boolean {
    return this.#ws.readyState === this.#ws.OPEN;
  }

  /** Bytes that the client has not read. */
  get queuedBytes(): number {
    return this.#ws.bufferedAmount + this.#deferredBytes + this.#batch.sizeBytes;
  }

  /** Joins live events of this interval to one message each; 0 sends them one by one. */
  set batchIntervalMs(intervalMs: number) {
    this.#batch.intervalMs = intervalMs;
  }

  /** Sends a response immediately, after earlier events. */
  send(type: string, message: Buffer): void {
    this.#batch.flush();
    this.#write({ type, message });
  }

  /** Sends a live event, or a record for it. Buffers it during a snapshot, and drops a repeated notification. */
  deliver(delivery: Delivery): void {
    if (!this.isOpen) return;
    const { positionVehicleId } = delivery;
    if (positionVehicleId !== undefined) return this.#deliverPosition(positionVehicleId, delivery);
    if (this.#pauseCount === 0) return this.#sendUnlessDelivered(delivery);
    this.#deferred.push(delivery);
    this.#deferredBytes += delivery.message.length;
    if (this.queuedBytes > hardLimitBytes) this.#closeSlow();
  }

  /** Sends a notification from the records, before buffered events. */
  deliverNow(delivery: Delivery): void {
    this.#sendUnlessDelivered(delivery);
  }

  /**
   * Buffers live events until the returned function is called, so that records that are read in the meantime come
   * first.
   */
  pause(): () => void {
    this.#pauseCount += 1;
    let isPaused = true;
    return () => {
      if (!isPaused) return;
      isPaused = false;
      this.#pauseCount -= 1;
      if (this.#pauseCount === 0) this.#resume();
    };
  }

  /** Resolves once much data can be sent; false when the connection has ended. */
  async waitForDrain(): Promise<boolean> {
    while (this.isOpen && this.#ws.bufferedAmount > softLimitBytes / 2)
      await new Promise<void>((resolve) => {
        this.#drainListeners.add(resolve);
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
    this.#batch.flush();
    // A client that is too slow was closed by the last batch.
    if (!this.isOpen) return;
    this.#stats.count(this.#stats.closed, String(code));
    this.#ws.close(code, reason);
    this.#clear();
  }

  terminate(): void {
    this.#ws.terminate();
  }

  #deliverPosition(vehicleId: number, delivery: Delivery): void {
    if (this.#pauseCount === 0 && this.#ws.bufferedAmount <= softLimitBytes) {
      this.#waitingPositions.delete(vehicleId);
      this.#writeEvent(delivery);
      return;
    }
    if (this.#waitingPositions.has(vehicleId)) this.#stats.droppedLocations += 1;
    this.#waitingPositions.set(vehicleId, delivery);
  }

  #resume(): void {
    const deferred = this.#deferred;
    this.#deferred = [];
    this.#deferredBytes = 0;
    for (const delivery of deferred) this.#sendUnlessDelivered(delivery);
    this.#sendWaitingPositions();
  }

  /** Called after each message too: a compressed one may have waited without filling the socket. */
  readonly #onSent = (): void => {
    if (this.#waitingPositions.size > 0) this.#sendWaitingPositions();
    if (this.#drainListeners.size > 0 && this.#ws.bufferedAmount <= softLimitBytes / 2) this.#wakeDrainListeners();
  };

  #wakeDrainListeners(): void {
    for (const resolve of this.#drainListeners) resolve();
    this.#drainListeners.clear();
  }

  #sendWaitingPositions(): void {
    if (this.#pauseCount > 0) return;
    for (const [vehicleId, delivery] of this.#waitingPositions) {
      if (!this.isOpen || this.#ws.bufferedAmount > softLimitBytes) return;
      this.#waitingPositions.delete(vehicleId);
      this.#writeEvent(delivery);
    }
  }

  #sendUnlessDelivered(delivery: Delivery): void {
    const { notification } = delivery;
    if (notification !== undefined) {
      const known = this.#deliveredVersions.get(notification.id);
      if (known !== undefined && known >= notification.version) return;
      this.#deliveredVersions.delete(notification.id);
      this.#deliveredVersions.set(notification.id, notification.version);
      const [oldest] = this.#deliveredVersions.keys();
      if (this.#deliveredVersions.size > maxDeliveredVersions && oldest !== undefined)
        this.#deliveredVersions.delete(oldest);
    }
    this.#writeEvent(delivery);
  }

  #writeEvent(delivery: Delivery): void {
    if (this.#batch.intervalMs === 0) return this.#write(delivery);
    if (!this.isOpen) return;
    this.#batch.add(delivery.message);
    this.#stats.count(this.#stats.sent, delivery.type);
  }

  #write({ type, message }: Pick<Delivery, 'type' | 'message'>): void {
    if (!this.isOpen) return;
    if (this.queuedBytes + message.length > hardLimitBytes) {
      this.#closeSlow();
      return;
    }
    this.#ws.send(message, asText, this.#onSent);
    this.#stats.count(this.#stats.sent, type);
  }

  #closeSlow(): void {
    this.close(closeCodes.tooSlow, reconnectReason('too slow'));
  }

  #clear(): void {
    this.#batch.clear();
    this.#wakeDrainListeners();
    this.#waitingPositions.clear();
    this.#deliveredVersions.clear();
    this.#deferred = [];
    this.#deferredBytes = 0;
  }
}
