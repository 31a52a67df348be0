import type { Logger } from '@fleet/service-kit';
import type { HlsContinuation, StreamClaim, StreamId } from '@fleet/storage';
import type { Transcoders } from '../transcode/transcoders.ts';
import type { CameraLink } from './camera-link.ts';
import { type EndReason, isContinuedElsewhere } from './end-reason.ts';
import { type FindAacFormat, MediaStream, type StreamCounters } from './media-stream.ts';
import type { StreamLimits } from './stream-limits.ts';
import { formatStreamName } from './stream-name.ts';
import type { StreamViewer } from './stream-viewer.ts';

/** Store of the claims on streams. */
interface ClaimStore {
  claim(id: StreamId): Promise<StreamClaim | null>;
  renew(id: StreamId, claim: StreamClaim): Promise<boolean>;
  release(id: StreamId, claim: StreamClaim): Promise<void>;
  /** Lets another pod have the stream. Returns false if that is not possible. */
  handOver(id: StreamId, claim: StreamClaim, hls: HlsContinuation | null): Promise<boolean>;
}

/** Totals of streams that have ended. */
interface EndedStreamTotals extends StreamCounters {
  streams: number;
}

/** End reasons after which this pod stops the camera, as nothing else has. */
const cameraStopReasons: ReadonlySet<EndReason> = new Set([
  'idle',
  'noData',
  'cameraLeft',
  'talkEnded',
  'dataBudgetSpent',
  'shutdown',
]);

/** Holds the streams of this pod, from the first packet and the claim until the end. */
export class StreamRegistry {
  readonly endedTotals: EndedStreamTotals = {
    streams: 0,
    packets: 0,
    bytes: 0,
    lostPackets: 0,
    repeatedPackets: 0,
    brokenFrames: 0,
    droppedTags: 0,
    reconnects: 0,
  };
  readonly #claims: ClaimStore;
  readonly #limits: StreamLimits;
  readonly #transcoders: Transcoders;
  readonly #findAacFormat: FindAacFormat;
  readonly #stopCamera: (id: StreamId, reason: string) => Promise<void>;
  readonly #onEnd: (stream: MediaStream, reason: EndReason) => void;
  readonly #findContinuation: (stream: MediaStream) => HlsContinuation | null;
  readonly #log: Logger;
  readonly #streams = new Map<string, MediaStream>();
  /** Viewers of ended streams that still have queued data. */
  readonly #draining = new Set<StreamViewer>();
  readonly #waiters = new Map<string, Set<(stream: MediaStream) => void>>();
  #isStopping = false;

  constructor(options: {
    claims: ClaimStore;
    limits: StreamLimits;
    transcoders: Transcoders;
    findAacFormat: FindAacFormat;
    stopCamera: (id: StreamId, reason: string) => Promise<void>;
    onEnd: (stream: MediaStream, reason: EndReason) => void;
    /** Returns where the HLS of a stream that has moved continues; null if nothing has read it. */
    findContinuation: (stream: MediaStream) => HlsContinuation | null;
    log: Logger;
  }) {
    this.#claims = options.claims;
    this.#limits = options.limits;
    this.#transcoders = options.transcoders;
    this.#findAacFormat = options.findAacFormat;
    this.#stopCamera = options.stopCamera;
    this.#onEnd = options.onEnd;
    this.#findContinuation = options.findContinuation;
    this.#log = options.log;
  }

  get streams(): Iterable<MediaStream> {
    return this.#streams.values();
  }

  get size(): number {
    return this.#streams.size;
  }

  find(id: StreamId): MediaStream | undefined {
    return this.#streams.get(formatStreamName(id));
  }

  /** Returns the stream that a camera's connection may feed, or null when it was not requested. */
  async admit(id: StreamId): Promise<MediaStream | null> {
    // Already running here: the camera has reconnected, so Redis is not needed.
    const running = this.find(id);
    if (running !== undefined) return running;
    // A claim of this pod would end the move of the stream to another one.
    if (this.#isStopping) return null;
    const claim = await this.#claims.claim(id);
    if (claim === null) return null;
    if (this.#isStopping) {
      await this.#claims.release(id, claim);
      return null;
    }
    const concurrent = this.find(id);
    if (concurrent !== undefined) {
      concurrent.claim = claim;
      return concurrent;
    }
    return this.#begin(id, claim);
  }

  /** Handles a closed camera connection. Live viewers wait for a new one; a recording is complete. */
  onLinkClosed(stream: MediaStream, link: CameraLink): void {
    if (this.find(stream.id) !== stream || !stream.detach(link)) return;
    const reason = stream.check(performance.now());
    if (reason !== null) this.end(stream, reason);
  }

  /** Resolves with the stream once it begins here, or with null on timeout or abort. */
  waitFor(id: StreamId, timeoutMs: number, signal: AbortSignal): Promise<MediaStream | null> {
    const running = this.find(id);
    if (running !== undefined) return Promise.resolve(running);
    const name = formatStreamName(id);
    return new Promise((resolve) => {
      const waiters = this.#waiters.get(name) ?? new Set();
      this.#waiters.set(name, waiters);
      const finish = (stream: MediaStream | null): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', cancel);
        waiters.delete(finish);
        if (waiters.size === 0 && this.#waiters.get(name) === waiters) this.#waiters.delete(name);
        resolve(stream);
      };
      const cancel = (): void => finish(null);
      const timer = setTimeout(cancel, timeoutMs);
      signal.addEventListener('abort', cancel);
      waiters.add(finish);
    });
  }

  /**
   * Ends a stream: viewers get the queued data, the claim is released, and the camera is stopped where nothing else has
   * done so.
   */
  end(stream: MediaStream, reason: EndReason): void {
    const name = formatStreamName(stream.id);
    if (this.#streams.get(name) !== stream) return;
    this.#streams.delete(name);
    const viewers = [...stream.viewers];
    this.#log.info({ stream: name, reason, viewers: viewers.length, ...stream.counters }, 'stream ended');
    // The command is sent before the claim is released, so a start that finds the channel free can only follow it.
    if (cameraStopReasons.has(reason)) void this.#stopCamera(stream.id, reason);
    stream.end(reason);
    for (const viewer of viewers) if (!viewer.isFinished) this.#draining.add(viewer);
    if (!isContinuedElsewhere(reason)) void this.#claims.release(stream.id, stream.claim);
    this.#addToTotals(stream);
    // Called last, as it may throw and viewers must not be left without an end.
    this.#onEnd(stream, reason);
  }

  /** Checks all timers; call it regularly. */
  check(nowMs: number): void {
    for (const stream of this.#streams.values()) {
      const reason = stream.check(nowMs);
      if (reason !== null) this.end(stream, reason);
    }
    for (const viewer of this.#draining)
      if (viewer.isFinished || viewer.checkStalled(nowMs)) this.#draining.delete(viewer);
  }

  /** Renews all claims and ends streams that another pod has taken over. */
  async renewClaims(): Promise<void> {
    await Promise.all(
      [...this.#streams.values()].map(async (stream) => {
        const { claim } = stream;
        const isRenewed = await this.#claims.renew(stream.id, claim);
        // The result applies to the claim that was sent, which may have been replaced concurrently.
        if (isRenewed || stream.claim !== claim) return;
        this.#log.warn({ stream: formatStreamName(stream.id) }, 'another pod took over the stream');
        this.end(stream, 'takenOver');
      }),
    );
  }

  /**
   * Lets other pods have the live streams whose cameras can be requested again. Returns their number. Accepts no further
   * stream.
   */
  async moveStreams(): Promise<number> {
    this.#isStopping = true;
    const movable = [...this.#streams.values()].filter(({ id, claim }) => id.kind === 'live' && isRepeatable(claim));
    const results = await Promise.all(movable.map((stream) => this.#move(stream)));
    return results.filter(Boolean).length;
  }

  /** Ends every stream. Viewers lose data that they do not accept within a second. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const claims = [...this.#streams.values()].map(({ id, claim }) => ({ id, claim }));
    for (const stream of this.#streams.values()) this.end(stream, 'shutdown');
    await Promise.all(claims.map(({ id, claim }) => this.#claims.release(id, claim)));
    for (const waiters of this.#waiters.values()) waiters.clear();
    const deadlineMs = performance.now() + 1_000;
    while (this.#draining.size > 0 && performance.now() < deadlineMs) {
      this.check(performance.now());
      await new Promise((resolve) => {
        setTimeout(resolve, 20);
      });
    }
    for (const viewer of this.#draining) viewer.destroy();
    this.#draining.clear();
  }

  async #move(stream: MediaStream): Promise<boolean> {
    this.end(stream, 'moved');
    const isMoved = await this.#claims.handOver(stream.id, stream.claim, this.#findContinuation(stream));
    if (!isMoved) this.#log.warn({ stream: formatStreamName(stream.id) }, 'could not move a stream');
    return isMoved;
  }

  #begin(id: StreamId, claim: StreamClaim): MediaStream {
    const name = formatStreamName(id);
    const waiters = this.#waiters.get(name);
    const stream = new MediaStream(id, claim, {
      expectsViewer: waiters !== undefined,
      limits: this.#limits,
      transcoders: this.#transcoders,
      findAacFormat: this.#findAacFormat,
      log: this.#log.child({ stream: name }),
    });
    this.#streams.set(name, stream);
    this.#log.info({ stream: name, generation: claim.generation }, 'stream began');
    this.#waiters.delete(name);
    for (const resolveWaiter of waiters ?? []) resolveWaiter(stream);
    return stream;
  }

  #addToTotals(stream: MediaStream): void {
    this.endedTotals.streams += 1;
    for (const viewer of stream.viewers) stream.leave(viewer);
    for (const name of Object.keys(stream.counters) as (keyof StreamCounters)[])
      this.endedTotals[name] += stream.counters[name];
  }
}

/** Returns whether another pod can send the camera's request again. */
const isRepeatable = ({ request }: StreamClaim): boolean => request?.address !== undefined && !request.isForeign;
