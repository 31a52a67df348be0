import dgram from 'node:dgram';
import net from 'node:net';

/** Destination of a stream. TCP is used if both ports are given, as terminals do. */
export interface MediaTarget {
  host: string;
  tcpPort: number;
  udpPort: number;
}

/** Connection on which a camera sends its packets. */
export interface MediaLink {
  readonly protocol: 'tcp' | 'udp';
  /** Bytes not yet accepted by the network. */
  readonly queuedBytes: number;
  send(packets: readonly Buffer[]): void;
  /** Calls back once when the queue has drained; immediately if it is empty. */
  whenDrained(callback: () => void): void;
  close(): void;
}

/** Receives what happens on a link. */
interface LinkHandlers {
  /** Called once when the link has ended, with the error if there was one. */
  readonly onEnd: (error: Error | null) => void;
  /** Receives data of the server: the voice of a talker. */
  readonly onData: (chunk: Buffer) => void;
}

const connectTimeoutMs = 10_000;
/** Datagrams per batch: a key frame of 60 packets in one burst overruns default socket buffers. */
const datagramsPerBatch = 12;

class TcpLink implements MediaLink {
  readonly protocol = 'tcp';
  readonly #socket: net.Socket;

  constructor(socket: net.Socket) {
    this.#socket = socket;
  }

  get queuedBytes(): number {
    return this.#socket.writableLength;
  }

  send(packets: readonly Buffer[]): void {
    if (this.#socket.destroyed) return;
    this.#socket.cork();
    for (const packet of packets) this.#socket.write(packet);
    this.#socket.uncork();
  }

  whenDrained(callback: () => void): void {
    if (this.#socket.writableNeedDrain) this.#socket.once('drain', callback);
    else callback();
  }

  close(): void {
    // end() flushes the written data; the timeout releases the socket if the server does not read.
    this.#socket.end();
    setTimeout(() => this.#socket.destroy(), 1000).unref();
  }
}

class UdpLink implements MediaLink {
  readonly protocol = 'udp';
  readonly #socket: dgram.Socket;
  readonly #queue: Buffer[] = [];
  #queuedBytes = 0;
  #isPumping = false;
  #isClosed = false;

  constructor(socket: dgram.Socket) {
    this.#socket = socket;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  send(packets: readonly Buffer[]): void {
    if (this.#isClosed) return;
    for (const packet of packets) {
      this.#queue.push(packet);
      this.#queuedBytes += packet.length;
    }
    if (!this.#isPumping) this.#pump();
  }

  whenDrained(callback: () => void): void {
    callback();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isPumping) this.#socket.close();
  }

  #pump(): void {
    this.#isPumping = true;
    for (const packet of this.#queue.splice(0, datagramsPerBatch)) {
      this.#queuedBytes -= packet.length;
      this.#socket.send(packet);
    }
    if (this.#queue.length > 0) {
      setTimeout(() => this.#pump(), 1);
      return;
    }
    this.#isPumping = false;
    if (this.#isClosed) this.#socket.close();
  }
}

function openTcp(target: MediaTarget, { onEnd, onData }: LinkHandlers): Promise<MediaLink> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: target.host, port: target.tcpPort, noDelay: true });
    let failure: Error | null = null;
    let isOpen = false;
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('connecting to the media server timed out')));
    socket.on('error', (error) => {
      failure = error;
    });
    socket.on('connect', () => {
      isOpen = true;
      socket.setTimeout(0);
      // Data is read even where nothing uses it; otherwise the end of the connection would go unnoticed.
      socket.on('data', onData);
      resolve(new TcpLink(socket));
    });
    socket.on('close', () => {
      if (isOpen) onEnd(failure);
      else reject(failure ?? new Error('media connection closed'));
    });
  });
}

function openUdp(target: MediaTarget, { onEnd, onData }: LinkHandlers): Promise<MediaLink> {
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket({ type: target.host.includes(':') ? 'udp6' : 'udp4', sendBufferSize: 1 << 20 });
    let isOpen = false;
    socket.on('error', (error) => {
      // Reports a refused datagram (the port is closed). A camera does not notice it and continues.
      if (isOpen) return;
      socket.close();
      reject(error);
    });
    socket.on('message', onData);
    socket.on('close', () => {
      if (isOpen) onEnd(null);
    });
    socket.connect(target.udpPort, target.host, () => {
      isOpen = true;
      resolve(new UdpLink(socket));
    });
  });
}

/** Opens the connection of a stream request. */
export async function openMediaLink(target: MediaTarget, handlers: LinkHandlers): Promise<MediaLink> {
  if (target.tcpPort !== 0) return openTcp(target, handlers);
  if (target.udpPort !== 0) return openUdp(target, handlers);
  throw new Error('the stream request has no port');
}
