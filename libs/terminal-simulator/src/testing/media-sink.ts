import { createHash } from 'node:crypto';
import dgram from 'node:dgram';
import net from 'node:net';
import {
  DatagramReader,
  FrameAssembler,
  type MediaFrame,
  type MediaPacket,
  PacketSplitter,
  ReorderWindow,
} from '@fleet/jt1078';

/** A copy of a received frame. */
interface ReceivedMediaFrame {
  kind: MediaFrame['kind'];
  sim: string;
  channel: number;
  payloadType: number;
  timestampMs: number;
  sha256: string;
  data: Buffer;
}

/** Receives JT/T 1078 streams over TCP and UDP, for the simulator's own tests. */
export class MediaSink {
  readonly frames: ReceivedMediaFrame[] = [];
  readonly packets: { sequence: number; bodyBytes: number }[] = [];
  connections = 0;
  closedConnections = 0;
  isReading = true;
  readonly #sockets = new Set<net.Socket>();
  readonly #tcp = net.createServer((socket) => this.#onConnection(socket));
  readonly #udp = dgram.createSocket({ type: 'udp4', recvBufferSize: 4 << 20 });

  get tcpPort(): number {
    return (this.#tcp.address() as net.AddressInfo).port;
  }

  get udpPort(): number {
    return this.#udp.address().port;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#tcp.listen(0, '127.0.0.1', resolve);
    });
    await new Promise<void>((resolve) => {
      this.#udp.bind(0, '127.0.0.1', resolve);
    });
    const assembler = this.#assembler();
    const window = new ReorderWindow({ onPacket: (packet) => this.#onPacket(packet, assembler) });
    const reader = new DatagramReader({ onPacket: (packet) => window.push(packet, Date.now()) });
    this.#udp.on('message', (datagram) => reader.push(datagram));
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#tcp.close(() => resolve());
    });
    await new Promise<void>((resolve) => {
      this.#udp.close(() => resolve());
    });
  }

  /** Returns the frames of one kind. */
  framesOfKind(kind: MediaFrame['kind']): ReceivedMediaFrame[] {
    return this.frames.filter((frame) => frame.kind === kind);
  }

  #assembler(): FrameAssembler {
    return new FrameAssembler({ onFrame: (frame) => this.#onFrame(frame) });
  }

  #onConnection(socket: net.Socket): void {
    this.connections += 1;
    this.#sockets.add(socket);
    const assembler = this.#assembler();
    const splitter = new PacketSplitter({ onPacket: (packet) => this.#onPacket(packet, assembler) });
    socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('end', () => splitter.flush());
    socket.on('close', () => {
      assembler.flush();
      this.closedConnections += 1;
      this.#sockets.delete(socket);
    });
  }

  #onPacket(packet: MediaPacket, assembler: FrameAssembler): void {
    this.packets.push({ sequence: packet.sequence, bodyBytes: packet.body.length });
    assembler.push(packet, Date.now());
  }

  #onFrame(frame: MediaFrame): void {
    const data = Buffer.from(frame.data);
    this.frames.push({
      kind: frame.kind,
      sim: frame.sim,
      channel: frame.channel,
      payloadType: frame.payloadType,
      timestampMs: frame.timestampHigh * 2 ** 32 + frame.timestampLow,
      sha256: createHash('sha256').update(data).digest('hex'),
      data,
    });
  }
}
