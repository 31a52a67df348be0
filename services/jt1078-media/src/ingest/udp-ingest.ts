import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { DatagramReader, ReorderWindow } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { StreamId, StreamKind } from '@fleet/storage';
import { type Admission, CameraConnection, type IngestCounters, type Transport } from './camera-connection.ts';

/** Options of a UDP ingest port. */
export interface UdpIngestOptions {
  readonly kind: StreamKind;
  readonly admission: Admission;
  readonly counters: IngestCounters;
  readonly silenceTimeoutMs: number;
  /** Pauses or resumes a recording over UDP, which is only possible by command: 0x9202 pause, then play. */
  readonly onPause: (id: StreamId, isPaused: boolean) => void;
  readonly log: Logger;
}

/** A key frame is a burst of many datagrams. With the default buffer two thirds of it are lost (measured). */
const receiveBufferBytes = 4 * 1024 * 1024;
/** A gap in the sequence counts as a loss after 150 ms, checked at this interval. */
const gapCheckIntervalMs = 50;
const maxPeers = 4096;
/** Shorter timeout, so refused peers free their entry sooner. */
const unrequestedPeerTimeoutMs = 5_000;

/** Serves the UDP side of one ingest port: peers by address and port. */
export class UdpIngest {
  readonly #options: UdpIngestOptions;
  readonly #peers = new Map<string, UdpPeer>();
  #socket: Socket | undefined;
  /** Runs only while a packet waits for an earlier one. */
  #gapTimer: NodeJS.Timeout | undefined;

  constructor(options: UdpIngestOptions) {
    this.#options = options;
  }

  listen(port: number, host: string): Promise<void> {
    const socket = createSocket({ type: isIPv6(host) ? 'udp6' : 'udp4', recvBufferSize: receiveBufferBytes });
    return new Promise((resolve, reject) => {
      socket.once('error', reject);
      socket.bind(port, host, () => {
        socket.off('error', reject);
        socket.on('error', (error) => this.#options.log.error({ err: error }, 'UDP ingest port failed'));
        socket.on('message', (datagram, from) => this.#onMessage(datagram, from));
        this.#socket = socket;
        resolve();
      });
    });
  }

  get count(): number {
    return this.#peers.size;
  }

  /** Checks for incomplete frames and removes silent peers; call it regularly. */
  check(nowMs: number): void {
    for (const [key, peer] of this.#peers) {
      peer.check(nowMs);
      const timeoutMs = peer.hasRequestedStream
        ? Math.max(60_000, this.#options.silenceTimeoutMs)
        : unrequestedPeerTimeoutMs;
      if (nowMs - peer.lastDataMs < timeoutMs) continue;
      this.#peers.delete(key);
      peer.end();
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#gapTimer);
    for (const peer of this.#peers.values()) peer.end();
    this.#peers.clear();
    const socket = this.#socket;
    this.#socket = undefined;
    if (socket !== undefined) await new Promise<void>((resolve) => socket.close(() => resolve()));
  }

  #onMessage(datagram: Buffer, from: RemoteInfo): void {
    const key = `${from.address}:${from.port}`;
    let peer = this.#peers.get(key);
    if (peer === undefined) {
      if (this.#peers.size >= maxPeers) return;
      this.#options.counters.connections += 1;
      peer = new UdpPeer(key, this.#options, (packet) => this.#socket?.send(packet, from.port, from.address));
      this.#peers.set(key, peer);
    }
    peer.push(datagram);
    if (peer.hasGap) this.#gapTimer ??= setTimeout(() => this.#checkGaps(), gapCheckIntervalMs);
  }

  #checkGaps(): void {
    this.#gapTimer = undefined;
    const nowMs = performance.now();
    let hasGap = false;
    for (const peer of this.#peers.values()) {
      peer.checkGap(nowMs);
      hasGap ||= peer.hasGap;
    }
    if (hasGap) this.#gapTimer = setTimeout(() => this.#checkGaps(), gapCheckIntervalMs);
  }
}

class UdpPeer implements Transport {
  readonly name = 'udp';
  readonly remote: string;
  lastDataMs = performance.now();
  readonly #options: UdpIngestOptions;
  readonly #connection: CameraConnection;
  readonly #reader: DatagramReader;
  readonly #window: ReorderWindow;

  readonly #send: (packet: Buffer) => void;

  constructor(remote: string, options: UdpIngestOptions, send: (packet: Buffer) => void) {
    this.remote = remote;
    this.#send = send;
    this.#options = options;
    this.#connection = new CameraConnection({ ...options, transport: this });
    this.#window = new ReorderWindow({ onPacket: (packet) => this.#connection.push(packet) });
    this.#reader = new DatagramReader({ onPacket: (packet) => this.#window.push(packet, this.lastDataMs) });
  }

  get hasRequestedStream(): boolean {
    return this.#connection.hasRequestedStream;
  }

  push(datagram: Buffer): void {
    this.lastDataMs = performance.now();
    this.#connection.nowMs = this.lastDataMs;
    this.#reader.push(datagram);
  }

  get hasGap(): boolean {
    return this.#window.deadlineMs !== null;
  }

  /** Treats a gap that has waited long enough as a loss. */
  checkGap(nowMs: number): void {
    if (this.#window.deadlineMs === null || nowMs < this.#window.deadlineMs) return;
    this.#connection.nowMs = nowMs;
    this.#window.expire(nowMs);
  }

  check(nowMs: number): void {
    this.#connection.expire(nowMs);
  }

  end(): void {
    this.#window.flush();
    this.#connection.end();
  }

  // A datagram socket cannot be closed per peer. The peer is removed when it falls silent.
  close(): void {
    this.#options.log.debug({ remote: this.remote }, 'ignoring a UDP peer');
  }

  pause(id: StreamId): void {
    this.#options.onPause(id, true);
  }

  resume(id: StreamId): void {
    this.#options.onPause(id, false);
  }

  send(packet: Buffer): boolean {
    this.#send(packet);
    return true;
  }
}
