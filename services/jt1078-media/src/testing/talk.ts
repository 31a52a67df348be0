import { once } from 'node:events';
import { createVoiceEncoder, type MediaPacket, PacketSplitter, VoiceDecoder } from '@fleet/jt1078';
import type { StreamId } from '@fleet/storage';
import { createTone, joinSamples } from '@fleet/terminal-simulator';
import { WebSocket } from 'ws';
import { TcpCamera, TestCamera } from './camera.ts';

const frameMs = 40;
const frameSamples = 320;

/** Camera of a talk stream that speaks a tone and records what it receives. */
export class TalkingCamera {
  readonly received: MediaPacket[] = [];
  readonly #camera: TcpCamera;
  readonly #timer: NodeJS.Timeout;

  constructor(
    id: StreamId,
    port: number,
    options: { codec: number; toneHz?: number; hasHisiliconHeader?: boolean; simDigits?: 12 | 20 },
  ) {
    const { codec, toneHz = 600, hasHisiliconHeader = false, simDigits = 12 } = options;
    const packets = new TestCamera(id, { simDigits });
    const encoder = createVoiceEncoder(codec, { hasHisiliconHeader });
    this.#camera = new TcpCamera(port);
    const splitter = new PacketSplitter({
      onPacket: (packet) => this.received.push({ ...packet, body: Buffer.from(packet.body) }),
    });
    this.#camera.socket.on('data', (chunk: Buffer) => splitter.push(chunk));
    let sentFrames = 0;
    this.#timer = setInterval(() => {
      const pcm = createTone(toneHz, { samples: frameSamples, fromSample: sentFrames * frameSamples });
      const data = encoder?.encode(pcm);
      if (data === undefined || this.#camera.socket.destroyed) return;
      this.#camera.socket.write(packets.createAudioPacket(data, codec, sentFrames * frameMs));
      sentFrames += 1;
    }, frameMs);
  }

  get isClosed(): boolean {
    return this.#camera.isClosed;
  }

  /** Returns the samples of what it received. */
  decode(): Int16Array {
    const decoder = new VoiceDecoder();
    return joinSamples(
      this.received.map(({ payloadType, body }) => decoder.decode(payloadType, body) ?? new Int16Array()),
    );
  }

  close(): void {
    clearInterval(this.#timer);
    this.#camera.close();
  }
}

/** Websocket of a talker that speaks a tone and records what it receives. */
export class TestTalker {
  readonly received: Int16Array[] = [];
  closeCode: number | null = null;
  readonly websocket: WebSocket;
  readonly #timer: NodeJS.Timeout;

  private constructor(websocket: WebSocket, toneHz: number) {
    this.websocket = websocket;
    websocket.on('message', (data: Buffer) => {
      this.received.push(Int16Array.from({ length: data.length / 2 }, (_unused, index) => data.readInt16LE(index * 2)));
    });
    websocket.on('close', (code) => {
      this.closeCode = code;
      clearInterval(this.#timer);
    });
    let sentSamples = 0;
    this.#timer = setInterval(() => {
      const pcm = createTone(toneHz, { samples: 160, fromSample: sentSamples });
      sentSamples += pcm.length;
      websocket.send(Buffer.from(pcm.buffer));
    }, 20);
  }

  /** Resolves after the handshake. Throws an error with the status of a refusal. */
  static async open(url: string, toneHz = 900): Promise<TestTalker> {
    const websocket = new WebSocket(url.replace(/^http/, 'ws'));
    const refused = once(websocket, 'unexpected-response').then(([, response]) => {
      throw new Error(`status ${(response as { statusCode: number }).statusCode}`);
    });
    await Promise.race([once(websocket, 'open'), refused]);
    return new TestTalker(websocket, toneHz);
  }

  close(): void {
    this.websocket.close();
  }
}
