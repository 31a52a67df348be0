import { createServer, type Server, type Socket } from 'node:net';
import { type MediaPacket, PacketSplitter } from '@fleet/jt1078';
import { acceptProxyProtocol, type Logger } from '@fleet/service-kit';
import type { StreamId, StreamKind } from '@fleet/storage';
import { formatStreamName } from '../domain/stream-name.ts';
import { type Admission, CameraConnection, type IngestCounters, type Transport } from './camera-connection.ts';

/** Options of a TCP ingest port. */
export interface TcpIngestOptions {
  readonly kind: StreamKind;
  readonly admission: Admission;
  readonly counters: IngestCounters;
  readonly silenceTimeoutMs: number;
  /** Networks of load balancers that send PROXY protocol headers. */
  readonly proxyNetworks: readonly string[];
  readonly log: Logger;
}

/** Quiet time after which the end of the last packet is considered final. */
const settleDelayMs = 250;
const keepAliveDelayMs = 15_000;
/** About two seconds of voice. */
const maxQueuedVoiceBytes = 32 * 1024;
/** Far more than one process can serve; further connections are closed immediately. */
const maxConnections = 8_192;

/** Serves the TCP side of one ingest port. */
export class TcpIngest {
  readonly #options: TcpIngestOptions;
  readonly #server: Server;
  readonly #cameras = new Set<TcpCamera>();

  constructor(options: TcpIngestOptions) {
    this.#options = options;
    this.#server = createServer({ keepAlive: true, keepAliveInitialDelay: keepAliveDelayMs, noDelay: true });
    this.#server.maxConnections = maxConnections;
    this.#server.on('connection', (socket) => this.#onConnection(socket));
    acceptProxyProtocol(this.#server, options.proxyNetworks);
  }

  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject);
        this.#server.on('error', (error) => this.#options.log.error({ err: error }, 'ingest port failed'));
        const address = this.#server.address();
        resolve(typeof address === 'object' && address !== null ? address.port : port);
      });
    });
  }

  get count(): number {
    return this.#cameras.size;
  }

  /** Checks for silent connections and incomplete frames; call it regularly. */
  check(nowMs: number): void {
    for (const camera of this.#cameras) camera.check(nowMs);
  }

  /** Closes the listener; open connections continue. */
  refuse(): void {
    this.#server.close();
  }

  stop(): Promise<void> {
    for (const camera of this.#cameras) camera.destroy();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #onConnection(socket: Socket): void {
    this.#options.counters.connections += 1;
    const camera = new TcpCamera(socket, this.#options);
    this.#cameras.add(camera);
    socket.once('close', () => this.#cameras.delete(camera));
  }
}

class TcpCamera implements Transport {
  readonly name = 'tcp';
  readonly remote: string;
  readonly #socket: Socket;
  readonly #options: TcpIngestOptions;
  readonly #connection: CameraConnection;
  readonly #splitter: PacketSplitter;
  readonly #pausedFor = new Set<string>();
  #lastDataMs = performance.now();
  #lastPacketMs = performance.now();
  #isSettled = true;

  constructor(socket: Socket, options: TcpIngestOptions) {
    this.#socket = socket;
    this.#options = options;
    this.remote = `${socket.remoteAddress ?? '?'}:${socket.remotePort ?? 0}`;
    this.#connection = new CameraConnection({ ...options, transport: this });
    this.#splitter = new PacketSplitter({ onPacket: (packet) => this.#onPacket(packet) });
    socket.on('data', (chunk) => this.#onData(chunk));
    socket.on('end', () => this.#settle());
    socket.on('error', (error) => options.log.debug({ err: error, remote: this.remote }, 'camera connection failed'));
    socket.on('close', () => {
      this.#settle();
      this.#connection.end();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  pause(id: StreamId): void {
    this.#pausedFor.add(formatStreamName(id));
    this.#socket.pause();
  }

  resume(id: StreamId): void {
    this.#pausedFor.delete(formatStreamName(id));
    if (this.#pausedFor.size > 0) return;
    this.#lastPacketMs = performance.now();
    this.#socket.resume();
  }

  send(packet: Buffer): boolean {
    if (this.#socket.writableLength > maxQueuedVoiceBytes) return false;
    this.#socket.write(packet);
    return true;
  }

  check(nowMs: number): void {
    if (!this.#isSettled && nowMs - this.#lastDataMs >= settleDelayMs) this.#settle();
    this.#connection.expire(nowMs);
    // Admitted streams have their own timers. This one closes connections that never identify themselves or send only
    // garbage.
    if (this.#pausedFor.size > 0 || this.#connection.hasRequestedStream) return;
    if (nowMs - this.#lastPacketMs < this.#options.silenceTimeoutMs) return;
    this.#options.log.info({ remote: this.remote }, 'closing a connection without a valid packet');
    this.close();
  }

  #onData(chunk: Buffer): void {
    this.#lastDataMs = performance.now();
    this.#isSettled = false;
    this.#connection.nowMs = this.#lastDataMs;
    this.#splitter.push(chunk);
    this.#closeIfGarbage();
  }

  #onPacket(packet: MediaPacket): void {
    this.#lastPacketMs = this.#lastDataMs;
    this.#connection.push(packet);
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#splitter.flush();
    this.#closeIfGarbage();
  }

  #closeIfGarbage(): void {
    const { giveUpReason: giveUp } = this.#splitter;
    if (giveUp === null || this.#socket.destroyed) return;
    this.#options.log.info({ remote: this.remote, giveUp }, 'closing a connection that does not speak JT/T 1078');
    this.close();
  }
}
