import type { FlvTag } from '@fleet/jt1078';

/** The sequence headers that stand before a tag. */
export interface SequenceHeaders {
  readonly video: FlvTag | null;
  /** Of the `audio` track. */
  readonly audio: FlvTag | null;
}

/** A tag with what a decoder needs before it. */
export interface CachedTag {
  readonly tag: FlvTag;
  readonly headers: SequenceHeaders;
}

/** Bounds of what is kept for viewers that join. */
export interface GopCacheLimits {
  readonly maxTags: number;
  readonly maxBytes: number;
}

/**
 * The tags since the latest key frame, for viewers that join. A group that outgrows its bounds is given up: a viewer then waits for the next key frame,
 * as pictures must never be left out in between. Without video it keeps nothing.
 */
export class GopCache {
  readonly #limits: GopCacheLimits;
  #tags: CachedTag[] = [];
  #bytes = 0;
  #retainAll = false;

  constructor(limits: GopCacheLimits) {
    this.#limits = limits;
  }

  /** Empty, or beginning with a key frame. */
  get tags(): readonly CachedTag[] {
    return this.#tags;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** While true nothing is given up: a recording's first viewer gets it from its beginning. The owner has to stop the input in time. */
  set retainAll(value: boolean) {
    this.#retainAll = value;
  }

  add(tag: FlvTag, headers: SequenceHeaders): void {
    if (tag.isSequenceHeader) return;
    if (tag.isKeyFrame && !this.#retainAll) this.clear();
    else if (this.#tags.length === 0 && !tag.isKeyFrame) return;
    this.#tags.push({ tag, headers });
    this.#bytes += tag.wire.length;
    if (this.#retainAll) return;
    if (this.#tags.length > this.#limits.maxTags || this.#bytes > this.#limits.maxBytes) this.clear();
  }

  clear(): void {
    this.#tags = [];
    this.#bytes = 0;
  }
}
