import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { AdtsSplitter, DataType, encodePacket, PayloadType, packetizeFrame } from '@fleet/jt1078';
import { type AccessUnit, splitAccessUnits } from '@fleet/jt1078/testing';
import type { StreamId } from '@fleet/storage';
import { testEnv } from '@fleet/testing';

const run = promisify(execFile);

/** Encodes a moving test card with ffmpeg: 25 pictures a second, a key frame each second, no B frames. */
export async function createTestCard(
  options: { seconds?: number; size?: string; kbps?: number; codec?: 'h264' | 'h265' } = {},
): Promise<AccessUnit[]> {
  const { seconds = 3, size = '320x240', kbps = 300, codec = 'h264' } = options;
  const rate = ['-b:v', `${kbps}k`, '-maxrate', `${kbps}k`, '-bufsize', `${kbps}k`];
  const encoder =
    codec === 'h264'
      ? ['-c:v', 'libx264', '-preset', 'ultrafast', '-bf', '0', '-x264-params', 'slices=1:scenecut=0', '-f', 'h264']
      : ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', 'bframes=0:scenecut=0:log-level=0', '-f', 'hevc'];
  const args = ['-v', 'error', '-f', 'lavfi', '-i', `testsrc2=size=${size}:rate=25`, '-t', String(seconds)];
  const { stdout } = await run(
    testEnv('FFMPEG_PATH'),
    [...args, '-pix_fmt', 'yuv420p', '-g', '25', ...rate, ...encoder, 'pipe:1'],
    { encoding: 'buffer', maxBuffer: 64 * 1024 * 1024 },
  );
  return splitAccessUnits(stdout, codec);
}

/** Builds the packets of a camera's media connection. */
export class TestCamera {
  sequence = 0;
  timestampMs = 1_000_000;
  readonly #id: StreamId;
  readonly #simDigits: number;

  constructor(id: StreamId, options: { simDigits?: 12 | 20 } = {}) {
    this.#id = id;
    this.#simDigits = options.simDigits ?? 12;
  }

  createVideoPackets(unit: AccessUnit, payloadType: number = PayloadType.H264): Buffer[] {
    const packets = packetizeFrame({
      ...this.#commonFields(),
      payloadType,
      dataType: unit.isKeyFrame ? DataType.I : DataType.P,
      timestamp: this.timestampMs,
      data: unit.data,
    });
    this.sequence += packets.length;
    return packets;
  }

  createAudioPacket(data: Buffer, payloadType: number, timestampMs = this.timestampMs): Buffer {
    const packet = encodePacket({
      ...this.#commonFields(),
      payloadType,
      dataType: DataType.AUDIO,
      timestamp: timestampMs,
      body: data,
    });
    this.sequence += 1;
    return packet;
  }

  #commonFields() {
    const simBytes: 6 | 10 = this.#simDigits === 12 ? 6 : 10;
    return {
      sim: this.#id.imei.padStart(this.#simDigits, '0'),
      simBytes,
      channel: this.#id.channel,
      sequence: this.sequence & 0xffff,
    };
  }
}

/** Creates frames of a tone as AAC without ADTS headers, as some cameras send it. */
export async function createRawAac(sampleRate: number, channels: number, seconds = 2): Promise<Buffer[]> {
  const tone = `sine=frequency=440:sample_rate=${sampleRate}:duration=${seconds}`;
  const { stdout } = await run(
    testEnv('FFMPEG_PATH'),
    ['-v', 'error', '-f', 'lavfi', '-i', tone, '-ac', String(channels), '-c:a', 'aac', '-f', 'adts', 'pipe:1'],
    { encoding: 'buffer', maxBuffer: 16 * 1024 * 1024 },
  );
  const frames: Buffer[] = [];
  new AdtsSplitter((frame) => frames.push(Buffer.from(frame.subarray(7)))).push(stdout);
  return frames;
}

/** TCP connection of a camera. */
export class TcpCamera {
  readonly socket: Socket;
  closedAtMs: number | null = null;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closedAtMs = performance.now();
    });
    this.socket.resume();
  }

  get isClosed(): boolean {
    return this.closedAtMs !== null;
  }

  /** Sends bytes, waiting while the other side does not read. */
  async send(...packets: Buffer[]): Promise<void> {
    for (const packet of packets) if (!this.socket.write(packet)) await once(this.socket, 'drain');
  }

  close(): void {
    this.socket.end();
  }
}

/** Sends pictures (and 40 ms of G.711A each, if requested) at a steady rate in a loop until stopped. */
export function startStreaming(
  camera: TcpCamera,
  testCamera: TestCamera,
  units: readonly AccessUnit[],
  options: { intervalMs?: number; sound?: boolean; payloadType?: number } = {},
): { sent: number; stop(): void } {
  const { intervalMs = 40, sound = false, payloadType = PayloadType.H264 } = options;
  const state = { sent: 0, stop: () => clearInterval(timer) };
  const timer = setInterval(() => {
    const unit = units[state.sent % units.length];
    if (unit === undefined || camera.socket.destroyed) return;
    for (const packet of testCamera.createVideoPackets(unit, payloadType)) camera.socket.write(packet);
    if (sound) camera.socket.write(testCamera.createAudioPacket(createTone(testCamera.timestampMs), PayloadType.G711A));
    testCamera.timestampMs += 40;
    state.sent += 1;
  }, intervalMs);
  return state;
}

/** Returns 40 ms of G.711A that changes with time. */
const createTone = (timestampMs: number): Buffer =>
  Buffer.from(Uint8Array.from({ length: 320 }, (_unused, i) => ((timestampMs + i * 7) % 64) ^ 0xd5));

/** Camera that sends datagrams. */
export class UdpCamera {
  readonly #socket = createSocket('udp4');
  readonly #port: number;

  constructor(port: number) {
    this.#port = port;
  }

  /** Sends datagrams, a few at a time. */
  async send(...packets: Buffer[]): Promise<void> {
    for (const [index, packet] of packets.entries()) {
      await new Promise<void>((resolve, reject) => {
        this.#socket.send(packet, this.#port, '127.0.0.1', (error) => (error ? reject(error) : resolve()));
      });
      if (index % 16 === 15) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  close(): void {
    this.#socket.close();
  }
}
