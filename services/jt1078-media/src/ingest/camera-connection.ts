import { FrameAssembler, type MediaFrame, type MediaPacket } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { StreamId, StreamKind } from '@fleet/storage';
import type { CameraLink } from '../domain/camera-link.ts';
import type { MediaStream } from '../domain/media-stream.ts';
import { canonicalizeSim, formatStreamName } from '../domain/stream-name.ts';

/** Admission of cameras to streams. */
export interface Admission {
  /** Returns the stream that a camera may feed, or null when it was not requested. */
  admit(id: StreamId): Promise<MediaStream | null>;
  /** Called when a camera's connection to a stream has closed. */
  onLinkClosed(stream: MediaStream, link: CameraLink): void;
}

/** Transport of a camera connection: TCP connection or UDP peer. */
export interface Transport {
  readonly name: 'tcp' | 'udp';
  readonly remote: string;
  close(): void;
  pause(id: StreamId): void;
  resume(id: StreamId): void;
  /** Sends a packet. Returns false if it was dropped, as the camera does not read. */
  send(packet: Buffer): boolean;
}

/** Counters of one port, shared by its connections. */
export interface IngestCounters {
  connections: number;
  unsolicited: number;
  invalidSims: number;
  droppedPending: number;
}

type Channel = {
  readonly id: StreamId;
  state: 'claiming' | 'streaming' | 'refused';
  stream: MediaStream | null;
  pending: MediaFrame[];
  pendingBytes: number;
  /** True while reading from the camera is paused until the claim, because many of its frames are buffered. */
  isPaused: boolean;
  /** Packets received before the claim. */
  unclaimedPackets: number;
  unclaimedBytes: number;
  /** Time of the next claim for a refused stream, which may be requested later. */
  retryAtMs: number;
};

/** Limit of frames that wait for the claim, which takes round trips to Redis. */
const maxPendingBytes = 4 * 1024 * 1024;
/** Reading from a camera over TCP is paused from here on, so that nothing is lost. One over UDP cannot be paused. */
const pauseAtBytes = maxPendingBytes / 2;
/** More (SIM, channel) pairs on one connection are not plausible. */
const maxChannels = 32;
const claimRetryMs = 2_000;

/** Handles one TCP connection or UDP peer: packets in, frames to the requested streams. */
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
  #lastChannel: Channel | null = null;
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

  /** True while the connection feeds, or may feed, a requested stream. */
  get hasRequestedStream(): boolean {
    for (const channel of this.#channels.values()) if (channel.state !== 'refused') return true;
    return false;
  }

  // Arrival time of the packets that follow.
  set nowMs(value: number) {
    this.#nowMs = value;
  }

  /** Handles a packet in sequence order. Its bytes are not used after the call. */
  push(packet: MediaPacket): void {
    if (this.#isClosed) return;
    const channel = this.#findChannel(packet.sim, packet.channel);
    if (channel !== null) this.#countPacket(channel, packet.headerBytes + packet.body.length);
    this.#assembler.push(packet, this.#nowMs);
  }

  /** Drops or emits frames that have waited too long. */
  expire(nowMs: number): void {
    this.#assembler.expire(nowMs);
  }

  /** Handles the end of the transport. Complete frames still reach the streams. */
  end(): void {
    if (this.#isClosed) return;
    this.#assembler.flush();
    this.#isClosed = true;
    clearTimeout(this.#closeTimer);
    for (const { stream } of this.#channels.values()) if (stream !== null) this.#admission.onLinkClosed(stream, this);
  }

  release(id: StreamId, reason: string, closeAfterMs: number): void {
    const channel = this.#channels.get(formatStreamName(id));
    if (channel === undefined || this.#isClosed) return;
    this.#refuse(channel);
    if (this.hasRequestedStream || this.#closeTimer !== undefined) return;
    this.#log.debug({ reason, remote: this.remote }, 'closing a camera connection');
    this.#closeTimer = setTimeout(() => this.#transport.close(), closeAfterMs);
  }

  pause(id: StreamId): void {
    this.#transport.pause(id);
  }

  resume(id: StreamId): void {
    this.#transport.resume(id);
  }

  send(packet: Buffer): boolean {
    return !this.#isClosed && this.#transport.send(packet);
  }

  #countPacket(channel: Channel, bytes: number): void {
    if (channel.stream !== null) {
      channel.stream.countPackets(1, bytes, this.#nowMs);
      return;
    }
    if (channel.state === 'refused' && this.#nowMs >= channel.retryAtMs) this.#claim(channel);
    channel.unclaimedPackets += 1;
    channel.unclaimedBytes += bytes;
  }

  #findChannel(sim: string, channelNo: number): Channel | null {
    // Packets of one stream arrive in runs, and the splitter returns the same string for the same SIM.
    if (sim === this.#lastSim && channelNo === this.#lastChannelNo) return this.#lastChannel;
    this.#lastSim = sim;
    this.#lastChannelNo = channelNo;
    this.#lastChannel = this.#findOrClaim(sim, channelNo);
    return this.#lastChannel;
  }

  #findOrClaim(sim: string, channelNo: number): Channel | null {
    const imei = canonicalizeSim(sim);
    if (imei === null) {
      this.#counters.invalidSims += 1;
      this.#closeIfUnrequested('no terminal has the number 0');
      return null;
    }
    const id: StreamId = { kind: this.#kind, imei, channel: channelNo };
    const name = formatStreamName(id);
    const existing = this.#channels.get(name);
    if (existing !== undefined) return existing;
    if (this.#channels.size >= maxChannels) return null;
    const channel: Channel = {
      id,
      state: 'claiming',
      stream: null,
      pending: [],
      pendingBytes: 0,
      isPaused: false,
      unclaimedPackets: 0,
      unclaimedBytes: 0,
      retryAtMs: 0,
    };
    this.#channels.set(name, channel);
    this.#claim(channel);
    return channel;
  }

  #claim(channel: Channel): void {
    channel.unclaimedPackets = 0;
    channel.unclaimedBytes = 0;
    channel.state = 'claiming';
    this.#admission.admit(channel.id).then(
      (stream) => this.#onClaimed(channel, stream),
      (error: unknown) => {
        this.#log.error({ err: error, stream: formatStreamName(channel.id) }, 'could not admit a camera');
        this.#onClaimed(channel, null);
      },
    );
  }

  #onClaimed(channel: Channel, stream: MediaStream | null): void {
    if (stream === null) {
      this.#counters.unsolicited += 1;
      this.#log.warn({ stream: formatStreamName(channel.id), remote: this.remote }, 'refused an unsolicited stream');
      this.#refuse(channel);
      this.#closeIfUnrequested('unsolicited stream');
      return;
    }
    channel.state = 'streaming';
    channel.stream = stream;
    // First, because the stream may pause the camera again.
    this.#resumeCamera(channel);
    clearTimeout(this.#closeTimer);
    this.#closeTimer = undefined;
    stream.attach(this);
    stream.countPackets(channel.unclaimedPackets, channel.unclaimedBytes, this.#nowMs);
    const { pending } = channel;
    channel.pending = [];
    channel.pendingBytes = 0;
    for (const frame of pending) stream.push(frame);
    // A short recording may have ended during the round trip.
    if (this.#isClosed) this.#admission.onLinkClosed(stream, this);
  }

  #refuse(channel: Channel): void {
    channel.state = 'refused';
    channel.stream = null;
    this.#resumeCamera(channel);
    channel.pending = [];
    channel.pendingBytes = 0;
    channel.retryAtMs = performance.now() + claimRetryMs;
  }

  #resumeCamera(channel: Channel): void {
    if (!channel.isPaused) return;
    channel.isPaused = false;
    this.#transport.resume(channel.id);
  }

  #closeIfUnrequested(reason: string): void {
    if (this.hasRequestedStream || this.#isClosed) return;
    this.#log.debug({ reason, remote: this.remote }, 'closing a camera connection');
    this.#transport.close();
  }

  #onFrame(frame: MediaFrame): void {
    const channel = this.#findChannel(frame.sim, frame.channel);
    if (channel === null) return;
    if (channel.stream !== null) {
      this.#addLosses(channel.stream);
      channel.stream.push(frame);
    } else if (channel.state === 'claiming') {
      this.#bufferFrame(channel, frame);
    }
  }

  #bufferFrame(channel: Channel, frame: MediaFrame): void {
    if (channel.pendingBytes + frame.data.length > maxPendingBytes) {
      // The remaining frames would have gaps, so the stream begins with a later key frame.
      this.#counters.droppedPending += channel.pending.length;
      channel.pending = [];
      channel.pendingBytes = 0;
    }
    channel.pending.push({ ...frame, data: Buffer.from(frame.data) });
    channel.pendingBytes += frame.data.length;
    if (channel.isPaused || channel.pendingBytes < pauseAtBytes || this.#transport.name !== 'tcp') return;
    channel.isPaused = true;
    this.#transport.pause(channel.id);
  }

  #addLosses(stream: MediaStream): void {
    const { lostPackets, repeatedPackets, brokenFrames } = this.#assembler.counters;
    stream.counters.lostPackets += lostPackets - this.#lost;
    stream.counters.repeatedPackets += repeatedPackets - this.#repeated;
    stream.counters.brokenFrames += brokenFrames - this.#broken;
    this.#lost = lostPackets;
    this.#repeated = repeatedPackets;
    this.#broken = brokenFrames;
  }
}
