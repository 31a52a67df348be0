import type { FlvTag } from '@fleet/jt1078';

/** Sequence headers that apply to a tag. */
export interface SequenceHeaders {
  readonly video: FlvTag | null;
  /** Header of the `audio` track. */
  readonly audio: FlvTag | null;
}

/** Tag with the headers that a decoder needs before it. */
interface CachedTag {
  readonly tag: FlvTag;
  readonly headers: SequenceHeaders;
}

/** Limits of the cache for joining viewers. */
interface GopCacheLimits {
  readonly maxTags: number;
  readonly maxBytes: number;
}

/**
 * Caches the tags since the latest key frame, for joining viewers. A group that exceeds its limits is discarded:
 * pictures in between must never be left out, so a viewer then waits for the next key frame. Without video the cache
 * stays empty.
 */
export class GopCache {
  readonly #limits: GopCacheLimits;
  #tags: CachedTag[] = [];
  #bytes = 0;
  #retainAll = false;

  constructor(limits: GopCacheLimits) {
    this.#limits = limits;
  }

  /** Cached tags: empty, or beginning with a key frame. */
  get tags(): readonly CachedTag[] {
    return this.#tags;
  }

  get bytes(): number {
    return this.#bytes;
  }

  // While true nothing is discarded, so the first viewer of a recording gets it from the beginning. The owner must stop
  // the input in time. Afterwards joining viewers begin with the latest key frame again.
  set retainAll(value: boolean) {
    this.#retainAll = value;
    if (!value) this.#discardOld();
  }

  add(tag: FlvTag, headers: SequenceHeaders): void {
    if (tag.isSequenceHeader) return;
    if (tag.isKeyFrame && !this.#retainAll) this.clear();
    else if (this.#tags.length === 0 && !tag.isKeyFrame) return;
    this.#tags.push({ tag, headers });
    this.#bytes += tag.wire.length;
    if (!this.#retainAll) this.#limit();
  }

  clear(): void {
    this.#tags = [];
    this.#bytes = 0;
  }

  /** Discards the tags before the latest key frame. */
  #discardOld(): void {
    const start = this.#tags.findLastIndex(({ tag }) => tag.isKeyFrame);
    if (start > 0) for (const { tag } of this.#tags.splice(0, start)) this.#bytes -= tag.wire.length;
    this.#limit();
  }

  #limit(): void {
    if (this.#tags.length > this.#limits.maxTags || this.#bytes > this.#limits.maxBytes) this.clear();
  }
}
