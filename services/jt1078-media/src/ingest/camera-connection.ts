import { FrameAssembler, type MediaFrame, type MediaPacket } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { StreamId, StreamKind } from '@fleet/storage';
import type { CameraLink, MediaStream } from '../domain/media-stream.ts';
import { canonicalSim, streamName } from '../domain/stream-key.ts';

/** What a connection needs of the rest of the service. */
export interface Admission {
  /** The stream that a camera may feed; null when nobody asked for it. */
  admit(id: StreamId): Promise<MediaStream | null>;
  /** A camera's connection to a stream is gone. */
  onLinkGone(stream: MediaStream, link: CameraLink): void;
}

/** How a transport closes, holds and goes on. */
export interface Transport {
  readonly name: 'tcp' | 'udp';
  readonly remote: string;
  close(): void;
  hold(id: StreamId): void;
  resume(id: StreamId): void;
}

/** Counters of one port, shared by its connections. */
export interface IngestCounters {
  connections: number;
  unsolicited: number;
  badSims: number;
  droppedPending: number;
}

type Channel = {
  readonly id: StreamId;
  state: 'asking' | 'streaming' | 'refused';
  stream: MediaStream | null;
  pending: MediaFrame[];
  pendingBytes: number;
  /** Packets that came before the claim. */
  earlyPackets: number;
  earlyBytes: number;
  /** A refused stream may be asked for later: not before this time is looked again. */
  retryAtMs: number;
};

/** Frames that wait for the claim, a round trip to Redis. */
const MAX_PENDING_BYTES = 4 * 1024 * 1024;
/** More (SIM, channel) pairs on one connection are not real. */
const MAX_CHANNELS = 32;
const ASK_AGAIN_AFTER_MS = 2_000;

/** One TCP connection or UDP peer: packets in, frames to the streams that were asked for. */
export class CameraConnection implements CameraLink {
  readonly #kind: StreamKind;
  readonly #transport: Transport;
  readonly #admission: Admission;
  readonly #counters: IngestCounters;
  readonly #log: Logger;
  readonly #assembler: FrameAssembler;
  readonly #channels = new Map<string, Channel>();
  #lastSim = '';
  #lastChannelNo = -1;
  #last: Channel | null = null;
  #nowMs = performance.now();
  #lost = 0;
  #repeated = 0;
  #broken = 0;
  #isClosed = false;
  #closeTimer: NodeJS.Timeout | undefined;

  constructor(options: {
    kind: StreamKind;
    transport: Transport;
    admission: Admission;
    counters: IngestCounters;
    log: Logger;
  }) {
    this.#kind = options.kind;
    this.#transport = options.transport;
    this.#admission = options.admission;
    this.#counters = options.counters;
    this.#log = options.log;
    this.#assembler = new FrameAssembler({ onFrame: (frame) => this.#onFrame(frame) });
  }

  get transport(): 'tcp' | 'udp' {
    return this.#transport.name;
  }

  get remote(): string {
    return this.#transport.remote;
  }

  /** True while it brings, or may bring, a stream that was asked for. */
  get isWanted(): boolean {
    for (const channel of this.#channels.values()) if (channel.state !== 'refused') return true;
    return false;
  }

  /** Packets that follow arrived at this time. */
  set nowMs(value: number) {
    this.#nowMs = value;
  }

  /** Takes a packet in sequence order; its bytes are not used after the call. */
  push(packet: MediaPacket): void {
    if (this.#isClosed) return;
    const channel = this.#channelOf(packet.sim, packet.channel);
    if (channel !== null) this.#note(channel, packet.headerBytes + packet.body.length);
    this.#assembler.push(packet, this.#nowMs);
  }

  /** Drops or emits what has waited for too long. */
  expire(nowMs: number): void {
    this.#assembler.expire(nowMs);
  }

  /** The transport is gone: what is whole still reaches the streams. */
  end(): void {
    if (this.#isClosed) return;
    this.#assembler.flush();
    this.#isClosed = true;
    clearTimeout(this.#closeTimer);
    for (const { stream } of this.#channels.values()) if (stream !== null) this.#admission.onLinkGone(stream, this);
  }

  leave(id: StreamId, reason: string, closeAfterMs: number): void {
    const channel = this.#channels.get(streamName(id));
    if (channel === undefined || this.#isClosed) return;
    this.#refuse(channel);
    if (this.isWanted || this.#closeTimer !== undefined) return;
    this.#log.debug({ reason, remote: this.remote }, 'closing a camera connection');
    this.#closeTimer = setTimeout(() => this.#transport.close(), closeAfterMs);
  }

  hold(id: StreamId): void {
    this.#transport.hold(id);
  }

  resume(id: StreamId): void {
    this.#transport.resume(id);
  }

  #note(channel: Channel, bytes: number): void {
    if (channel.stream !== null) {
      channel.stream.notePackets(1, bytes, this.#nowMs);
      return;
    }
    if (channel.state === 'refused' && this.#nowMs >= channel.retryAtMs) this.#ask(channel);
    channel.earlyPackets += 1;
    channel.earlyBytes += bytes;
  }

  #channelOf(sim: string, channelNo: number): Channel | null {
    // Packets of one stream come in runs; the splitter hands out the same string for the same SIM.
    if (sim === this.#lastSim && channelNo === this.#lastChannelNo) return this.#last;
    this.#lastSim = sim;
    this.#lastChannelNo = channelNo;
    this.#last = this.#findOrAsk(sim, channelNo);
    return this.#last;
  }

  #findOrAsk(sim: string, channelNo: number): Channel | null {
    const imei = canonicalSim(sim);
    if (imei === null) {
      this.#counters.badSims += 1;
      this.#closeIfUnwanted('no terminal has the number 0');
      return null;
    }
    const id: StreamId = { kind: this.#kind, imei, channel: channelNo };
    const name = streamName(id);
    const known = this.#channels.get(name);
    if (known !== undefined) return known;
    if (this.#channels.size >= MAX_CHANNELS) return null;
    const channel: Channel = {
      id,
      state: 'asking',
      stream: null,
      pending: [],
      pendingBytes: 0,
      earlyPackets: 0,
      earlyBytes: 0,
      retryAtMs: 0,
    };
    this.#channels.set(name, channel);
    this.#ask(channel);
    return channel;
  }

  #ask(channel: Channel): void {
    channel.earlyPackets = 0;
    channel.earlyBytes = 0;
    channel.state = 'asking';
    this.#admission.admit(channel.id).then(
      (stream) => this.#onAnswer(channel, stream),
      (error: unknown) => {
        this.#log.error({ err: error, stream: streamName(channel.id) }, 'a camera could not be admitted');
        this.#onAnswer(channel, null);
      },
    );
  }

  #onAnswer(channel: Channel, stream: MediaStream | null): void {
    if (stream === null) {
      this.#counters.unsolicited += 1;
      this.#log.warn({ stream: streamName(channel.id), remote: this.remote }, 'refused a stream that nobody asked for');
      this.#refuse(channel);
      this.#closeIfUnwanted('nobody asked for it');
      return;
    }
    channel.state = 'streaming';
    channel.stream = stream;
    clearTimeout(this.#closeTimer);
    this.#closeTimer = undefined;
    stream.attach(this);
    stream.notePackets(channel.earlyPackets, channel.earlyBytes, this.#nowMs);
    const { pending } = channel;
    channel.pending = [];
    channel.pendingBytes = 0;
    for (const frame of pending) stream.push(frame);
    // A short recording may have come and gone during the round trip.
    if (this.#isClosed) this.#admission.onLinkGone(stream, this);
  }

  #refuse(channel: Channel): void {
    channel.state = 'refused';
    channel.stream = null;
    channel.pending = [];
    channel.pendingBytes = 0;
    channel.retryAtMs = performance.now() + ASK_AGAIN_AFTER_MS;
  }

  #closeIfUnwanted(reason: string): void {
    if (this.isWanted || this.#isClosed) return;
    this.#log.debug({ reason, remote: this.remote }, 'closing a camera connection');
    this.#transport.close();
  }

  #onFrame(frame: MediaFrame): void {
    const channel = this.#channelOf(frame.sim, frame.channel);
    if (channel === null) return;
    if (channel.stream !== null) {
      this.#countLosses(channel.stream);
      channel.stream.push(frame);
    } else if (channel.state === 'asking') {
      this.#keep(channel, frame);
    }
  }

  #keep(channel: Channel, frame: MediaFrame): void {
    if (channel.pendingBytes + frame.data.length > MAX_PENDING_BYTES) {
      // What is left would miss pictures in between: the stream begins with a later key frame.
      this.#counters.droppedPending += channel.pending.length;
      channel.pending = [];
      channel.pendingBytes = 0;
    }
    channel.pending.push({ ...frame, data: Buffer.from(frame.data) });
    channel.pendingBytes += frame.data.length;
  }

  #countLosses(stream: MediaStream): void {
    const { lostPackets, repeatedPackets, brokenFrames } = this.#assembler.counters;
    stream.counters.lostPackets += lostPackets - this.#lost;
    stream.counters.repeatedPackets += repeatedPackets - this.#repeated;
    stream.counters.brokenFrames += brokenFrames - this.#broken;
    this.#lost = lostPackets;
    this.#repeated = repeatedPackets;
    this.#broken = brokenFrames;
  }
}
