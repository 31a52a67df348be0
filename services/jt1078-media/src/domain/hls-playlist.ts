import { EventEmitter, once } from 'node:events';
import type { Mp4FragmentOutput, Mp4Init } from '@fleet/jt1078';
import type { HlsContinuation } from '@fleet/storage';

/** Settings of a playlist; durations in milliseconds. */
export interface HlsPlaylistOptions {
  /** A segment ends before a key frame once it has this length. */
  readonly minSegmentMs: number;
  /** A segment ends here even without a key frame. */
  readonly maxSegmentMs: number;
  /** Number of complete segments in the playlist. */
  readonly windowSegments: number;
  /** Bytes of all segments; older ones are deleted first. */
  readonly maxBytes: number;
  /** Length of a partial segment, as the fragmenter cuts them. */
  readonly partMs: number;
  /** Number of the first segment and of the first format. Numbers of one channel must never fall. */
  readonly firstNumber: number;
  /** Present if the playlist continues that of another pod, after a discontinuity. */
  readonly continuation?: HlsContinuation | undefined;
}

interface Part {
  readonly data: readonly Buffer[];
  readonly bytes: number;
  readonly durationMs: number;
  readonly isIndependent: boolean;
}

interface Segment {
  readonly sequence: number;
  readonly initIndex: number;
  readonly parts: Part[];
  durationMs: number;
  isComplete: boolean;
}

/** A position that a player waits for: media sequence number, and index of a partial segment. */
export interface HlsPosition {
  readonly sequence: number;
  /** Null: the complete segment. */
  readonly part: number | null;
}

/** Number of the newest complete segments whose parts are listed. */
const segmentsWithParts = 3;
/** Complete segments stay available for this many segments after they left the playlist. */
const retainedSegments = 2;
/** Distance from the newest part at which a low-latency player begins, in parts (RFC 8216bis, 4.4.3.8). */
const partHoldBack = 3;

const seconds = (ms: number): string => (ms / 1000).toFixed(5);

/**
 * Holds the low-latency HLS playlist of one stream (RFC 8216bis) in memory: the newest segments, each a sequence of
 * parts. Players without support for parts read complete segments.
 */
export class HlsPlaylist {
  readonly #options: HlsPlaylistOptions;
  readonly #first: HlsContinuation;
  readonly #inits = new Map<number, Buffer>();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #segments: Segment[] = [];
  #initIndex: number;
  #nextSequence: number;
  #isEnded = false;
  #hasMoved = false;
  #longestSegmentMs: number;
  #longestPartMs: number;

  constructor(options: HlsPlaylistOptions) {
    this.#options = options;
    const { firstNumber } = options;
    this.#first = options.continuation ?? { sequence: firstNumber, initIndex: firstNumber, discontinuity: 0 };
    this.#initIndex = this.#first.initIndex - 1;
    this.#nextSequence = this.#first.sequence;
    this.#longestSegmentMs = options.maxSegmentMs;
    this.#longestPartMs = options.partMs;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** True once another pod has the stream: its playlist continues there. */
  get hasMoved(): boolean {
    return this.#hasMoved;
  }

  /** Where the playlist of another pod continues; null before the first segment. */
  get continuation(): HlsContinuation | null {
    const initIndex = this.#initIndex + 1;
    if (this.#segments.length === 0) return this.#options.continuation ?? null;
    return { sequence: this.#nextSequence, initIndex, discontinuity: this.#discontinuityOf(initIndex) };
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.#segments.reduce((sum, { parts }) => sum + parts.reduce((bytes, part) => bytes + part.bytes, 0), 0);
  }

  /** Begins a new format: the next fragment starts a segment after a discontinuity. */
  addInit({ data }: Mp4Init): void {
    this.completeSegment();
    this.#initIndex += 1;
    this.#inits.set(this.#initIndex, data);
  }

  addFragment({ data, durationMs, isIndependent }: Mp4FragmentOutput): void {
    const { minSegmentMs, maxSegmentMs, partMs } = this.#options;
    const open = this.#openSegment();
    const isLongEnough = open !== undefined && open.durationMs >= minSegmentMs && isIndependent;
    if (isLongEnough || (open !== undefined && open.durationMs + partMs > maxSegmentMs)) this.completeSegment();
    const segment = this.#openSegment() ?? this.#beginSegment();
    const bytes = data.reduce((sum, { length }) => sum + length, 0);
    segment.parts.push({ data, bytes, durationMs, isIndependent });
    segment.durationMs += durationMs;
    this.#longestPartMs = Math.max(this.#longestPartMs, durationMs);
    this.#longestSegmentMs = Math.max(this.#longestSegmentMs, segment.durationMs);
    this.#changes.emit('change');
  }

  /**
   * Completes the open segment, so that what follows begins another. hls.js loads no more parts of a segment that it has
   * begun once the playlist has ended.
   */
  completeSegment(): void {
    const open = this.#openSegment();
    if (open === undefined) return;
    open.isComplete = true;
    this.#deleteOld();
  }

  /** Ends the playlist: players stop after the last segment. */
  end(): void {
    this.completeSegment();
    this.#isEnded = true;
    this.#changes.emit('change');
  }

  /** Ends the playlist here without an end for players. Its files stay readable. */
  move(): void {
    this.completeSegment();
    this.#hasMoved = true;
    this.#changes.emit('change');
  }

  /** Returns the playlist. */
  render(): string {
    const listed = this.#listed();
    const first = listed[0];
    const discontinuity = this.#discontinuityOf(first?.initIndex ?? this.#first.initIndex);
    // The segments of the other pod are not listed, but players may have them.
    const isContinued = this.#options.continuation !== undefined && first?.sequence === this.#first.sequence;
    const lines = [
      '#EXTM3U',
      '#EXT-X-VERSION:9',
      `#EXT-X-TARGETDURATION:${Math.ceil(this.#longestSegmentMs / 1000)}`,
      `#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=${seconds(this.#longestPartMs * partHoldBack)}`,
      `#EXT-X-PART-INF:PART-TARGET=${seconds(this.#longestPartMs)}`,
      `#EXT-X-MEDIA-SEQUENCE:${first?.sequence ?? this.#nextSequence}`,
      `#EXT-X-DISCONTINUITY-SEQUENCE:${isContinued ? discontinuity - 1 : discontinuity}`,
    ];
    let initIndex: number | null = isContinued ? first.initIndex - 1 : null;
    for (const [index, segment] of listed.entries()) {
      if (segment.initIndex !== initIndex) {
        if (initIndex !== null) lines.push('#EXT-X-DISCONTINUITY');
        initIndex = segment.initIndex;
        lines.push(`#EXT-X-MAP:URI="init-${initIndex}.mp4"`);
      }
      lines.push(...renderSegment(segment, index >= listed.length - 1 - segmentsWithParts));
    }
    if (this.#isEnded) lines.push('#EXT-X-ENDLIST');
    else lines.push(`#EXT-X-PRELOAD-HINT:TYPE=PART,URI="${this.#nextPartName()}"`);
    return `${lines.join('\n')}\n`;
  }

  /** Returns the buffers of a file of the playlist, or null if it does not exist (any more). */
  read(file: string): readonly Buffer[] | null {
    const match = /^(?:init-(\d+)\.mp4|segment-(\d+)\.m4s|part-(\d+)\.(\d+)\.m4s)$/.exec(file);
    if (match === null) return null;
    const [, init, segment, partSequence, part] = match;
    if (init !== undefined) {
      const data = this.#inits.get(Number(init));
      return data === undefined ? null : [data];
    }
    if (segment !== undefined) {
      const found = this.#find(Number(segment));
      return found?.isComplete === true ? found.parts.flatMap(({ data }) => data) : null;
    }
    return this.#find(Number(partSequence))?.parts[Number(part)]?.data ?? null;
  }

  /** Returns whether a complete segment exists, from which every player can start. */
  get isPlayable(): boolean {
    return this.#segments.some(({ isComplete }) => isComplete);
  }

  /** Returns true if a position is too far ahead to wait for (RFC 8216bis, 6.2.5.2). */
  isTooFarAhead({ sequence }: HlsPosition): boolean {
    return sequence > this.#nextSequence + 1;
  }

  /** Returns true if a position is in the playlist or has left it. */
  has({ sequence, part }: HlsPosition): boolean {
    const last = this.#segments.at(-1);
    if (this.#isEnded || this.#hasMoved || (last !== undefined && last.sequence > sequence)) return true;
    if (last?.sequence !== sequence) return false;
    return last.isComplete || (part !== null && last.parts.length > part);
  }

  /** Returns the position of a partial segment that players request in advance; null for other files. */
  parsePart(file: string): HlsPosition | null {
    const match = /^part-(\d+)\.(\d+)\.m4s$/.exec(file);
    return match === null ? null : { sequence: Number(match[1]), part: Number(match[2]) };
  }

  /** Waits until the condition holds. Resolves with false on timeout or abort. */
  async waitFor(condition: () => boolean, timeoutMs: number, signal: AbortSignal): Promise<boolean> {
    const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    while (!condition()) {
      try {
        await once(this.#changes, 'change', { signal: deadline });
      } catch (error) {
        if (deadline.aborted) return condition();
        throw error;
      }
    }
    return true;
  }

  #find(sequence: number): Segment | undefined {
    return this.#segments.find((segment) => segment.sequence === sequence);
  }

  #openSegment(): Segment | undefined {
    const last = this.#segments.at(-1);
    return last?.isComplete === false ? last : undefined;
  }

  #beginSegment(): Segment {
    const segment = {
      sequence: this.#nextSequence,
      initIndex: this.#initIndex,
      parts: [],
      durationMs: 0,
      isComplete: false,
    };
    this.#nextSequence += 1;
    this.#segments.push(segment);
    return segment;
  }

  #deleteOld(): void {
    const { windowSegments, maxBytes } = this.#options;
    while (
      this.#segments.length > 1 &&
      (this.#segments.length > windowSegments + retainedSegments || this.bytes > maxBytes)
    )
      this.#segments.shift();
    const oldestInit = this.#segments[0]?.initIndex ?? this.#first.initIndex;
    for (const index of this.#inits.keys()) if (index < oldestInit) this.#inits.delete(index);
  }

  /** Returns the discontinuity sequence number of segments with an initialization section. */
  #discontinuityOf(initIndex: number): number {
    return this.#first.discontinuity + initIndex - this.#first.initIndex;
  }

  #listed(): readonly Segment[] {
    const open = this.#openSegment();
    return this.#segments.slice(-(this.#options.windowSegments + (open === undefined ? 0 : 1)));
  }

  #nextPartName(): string {
    const open = this.#openSegment();
    return open === undefined ? `part-${this.#nextSequence}.0.m4s` : `part-${open.sequence}.${open.parts.length}.m4s`;
  }
}

function renderSegment(segment: Segment, withParts: boolean): string[] {
  const lines = withParts
    ? segment.parts.map(
        ({ durationMs, isIndependent }, index) =>
          `#EXT-X-PART:DURATION=${seconds(durationMs)},URI="part-${segment.sequence}.${index}.m4s"${isIndependent ? ',INDEPENDENT=YES' : ''}`,
      )
    : [];
  if (segment.isComplete) lines.push(`#EXTINF:${seconds(segment.durationMs)},`, `segment-${segment.sequence}.m4s`);
  return lines;
}
