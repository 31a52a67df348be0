import type { FlvTag, StreamMuxer } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { StreamAudio } from '../transcode/stream-audio.ts';
import type { EndReason } from './end-reason.ts';
import { ChunkCache } from './flv-chunks.ts';
import { GopCache, type SequenceHeaders } from './gop-cache.ts';
import { decideTracks, type PlayOptions, type RequestedMedia, type Tracks } from './play-options.ts';
import type { StreamLimits } from './stream-limits.ts';
import type { StreamViewer } from './stream-viewer.ts';

/** The stream whose tags the viewers get. */
interface ViewerGroupDeps {
  readonly kind: 'live' | 'history';
  readonly limits: StreamLimits;
  readonly muxer: Pick<StreamMuxer, 'audio' | 'audioSequenceHeader' | 'isAacAwaited' | 'createMetadata'>;
  readonly audio: StreamAudio;
  readonly requestedMedia: () => RequestedMedia;
  /** Whether a viewer has waited for the camera and will join. */
  readonly expectsViewer: boolean;
  readonly log: Logger;
}

/** Time in which a viewer that waited for the first packet of the camera joins, unless it has left. */
const expectedViewerTimeoutMs = 2_000;

/**
 * Manages the viewers of one stream. Starts each once its tracks are known, first with the cached tags, then with live
 * ones.
 */
export class ViewerGroup {
  readonly #deps: ViewerGroupDeps;
  readonly #viewers = new Set<StreamViewer>();
  readonly #cache: GopCache;
  readonly #chunkCache = new ChunkCache();
  #headers: SequenceHeaders = { video: null, audio: null };
  #firstKeyFrameAtMs: number | null = null;
  #waitingViewers = 0;
  /** Time until which a viewer that waited for the camera is expected to join; null if none is. */
  #viewerExpectedUntilMs: number | null;
  #idleSinceMs: number = performance.now();
  #wasWatched = false;

  constructor(deps: ViewerGroupDeps) {
    this.#deps = deps;
    this.#cache = new GopCache({ maxTags: deps.limits.maxCacheTags, maxBytes: deps.limits.maxCacheBytes });
    this.#viewerExpectedUntilMs = deps.expectsViewer ? performance.now() + expectedViewerTimeoutMs : null;
    this.#updateCacheMode();
  }

  get viewers(): ReadonlySet<StreamViewer> {
    return this.#viewers;
  }

  get firstKeyFrameAtMs(): number | null {
    return this.#firstKeyFrameAtMs;
  }

  /** Time since which there are no viewers; meaningful only without viewers. */
  get idleSinceMs(): number {
    return this.#idleSinceMs;
  }

  /** True once a viewer has started. */
  get wasWatched(): boolean {
    return this.#wasWatched;
  }

  /** Adds a viewer, and starts it if its tracks are known already. */
  add(viewer: StreamViewer): void {
    this.#viewers.add(viewer);
    this.#waitingViewers += 1;
    this.#viewerExpectedUntilMs = null;
    this.#updateCacheMode();
    this.#tryStart(viewer, performance.now());
  }

  /** Removes a viewer that left at the given time, or was closed. Returns false if it was not in the group. */
  remove(viewer: StreamViewer, leftAtMs = performance.now()): boolean {
    if (!this.#viewers.delete(viewer)) return false;
    if (viewer.tracks === null) this.#waitingViewers -= 1;
    this.#updateListeners();
    if (this.#viewers.size === 0) this.#idleSinceMs = leftAtMs;
    this.#updateCacheMode();
    return true;
  }

  /** Caches a tag and sends it to the viewers of its track. Keeps a sequence header for the tags that follow. */
  deliver(tag: FlvTag): void {
    if (tag.isSequenceHeader) {
      if (tag.track === 'video') this.#headers = { ...this.#headers, video: tag };
      else if (tag.track === 'audio') this.#headers = { ...this.#headers, audio: tag };
      return;
    }
    const nowMs = performance.now();
    if (tag.isKeyFrame && tag.track === 'video') {
      this.#firstKeyFrameAtMs ??= nowMs;
      this.#deps.audio.clearRecent();
    }
    this.#cache.add(tag, this.#headers);
    if (this.#deps.kind === 'live' && this.#cache.bytes > this.#deps.limits.maxCacheBytes)
      this.#cache.retainAll = false;
    for (const viewer of this.#viewers)
      if (this.#shouldReceive(viewer, tag)) viewer.push(tag, this.#headers, this.#chunkCache, nowMs);
    if (this.#waitingViewers > 0) this.#tryStartWaiting(nowMs);
  }

  /** Requires a key frame for every viewer, because the camera has a new connection. */
  awaitKeyFrame(): void {
    for (const viewer of this.#viewers) viewer.awaitKeyFrame();
  }

  /** Drops the cached tags, so that later viewers begin at the current position. */
  clearCache(): void {
    this.#cache.clear();
  }

  /** Closes stalled viewers and starts those that have waited long enough. */
  check(nowMs: number): void {
    if (this.#viewerExpectedUntilMs !== null && nowMs >= this.#viewerExpectedUntilMs) {
      this.#viewerExpectedUntilMs = null;
      this.#updateCacheMode();
    }
    for (const viewer of this.#viewers) {
      if (viewer.checkStalled(nowMs))
        this.#deps.log.info({ droppedTags: viewer.counters.droppedTags }, 'closed a stalled viewer');
      else if (viewer.tracks === null) this.#tryStart(viewer, nowMs);
    }
  }

  /** Finishes all responses. */
  end(reason: EndReason): void {
    for (const viewer of this.#viewers) {
      if (viewer.tracks === null) viewer.onNoMedia(reason);
      else viewer.end(reason);
    }
  }

  /**
   * Returns whether the camera of a recording has to wait: no viewer has room, one is overfull, or the cache for the
   * first viewer is full.
   */
  needsBackpressure(isBackpressured: boolean): boolean {
    let hasRoom = false;
    let isOverfull = false;
    let startedViewers = 0;
    for (const viewer of this.#viewers) {
      if (viewer.tracks === null || viewer.isClosed) continue;
      startedViewers += 1;
      // A paused camera resumes at half of the limit, which avoids a pause with every tag.
      if (!(isBackpressured ? viewer.isHalfFull : viewer.isFull)) hasRoom = true;
      if (viewer.queuedBytes >= this.#deps.limits.hardQueueBytes) isOverfull = true;
    }
    if (startedViewers === 0) return this.#cache.bytes >= this.#deps.limits.maxCacheBytes;
    return !hasRoom || isOverfull;
  }

  #shouldReceive(viewer: StreamViewer, tag: FlvTag): boolean {
    if (tag.track === 'video') return true;
    return tag.track === (this.#receivesCopy(viewer) ? 'audioCopy' : 'audio');
  }

  #receivesCopy(viewer: StreamViewer): boolean {
    return viewer.options.audio === 'copy' && this.#deps.muxer.audio?.needsTranscoding === true;
  }

  #tryStartWaiting(nowMs: number): void {
    for (const viewer of this.#viewers) if (viewer.tracks === null) this.#tryStart(viewer, nowMs);
  }

  #tryStart(viewer: StreamViewer, nowMs: number): void {
    if (viewer.isClosed) return;
    const tracks = decideTracks({
      requestedMedia: this.#deps.requestedMedia(),
      audioMode: viewer.options.audio,
      sinceKeyFrameMs: this.#firstKeyFrameAtMs === null ? null : nowMs - this.#firstKeyFrameAtMs,
      isAudioPlayable: this.#isAudioPlayable(viewer.options),
      isAudioAwaited: this.#deps.muxer.isAacAwaited,
      waitedMs: nowMs - viewer.joinedAtMs,
      firstFrameWaitMs: this.#deps.limits.firstFrameWaitMs,
    });
    if (tracks === 'wait') return;
    if (tracks === 'none') viewer.onNoMedia();
    else this.#start(viewer, tracks, nowMs);
  }

  #start(viewer: StreamViewer, tracks: Tracks, nowMs: number): void {
    this.#waitingViewers -= 1;
    this.#wasWatched = true;
    const metadata = this.#deps.muxer.createMetadata({
      audio: tracks.audio ? viewer.options.audio : 'none',
      legacyHevc: viewer.options.isLegacyHevc,
    });
    const audioHeader = this.#receivesCopy(viewer) ? null : this.#deps.muxer.audioSequenceHeader;
    viewer.start(tracks, { metadata, audioHeader }, nowMs, () => {
      for (const { tag, headers } of this.#cache.tags)
        if (this.#shouldReceive(viewer, tag)) viewer.push(tag, headers, this.#chunkCache, nowMs);
    });
    this.#updateCacheMode();
    this.#updateListeners();
  }

  #isAudioPlayable({ audio: mode }: PlayOptions): boolean | null {
    const source = this.#deps.muxer.audio;
    if (source === null) return null;
    if (mode === 'none') return false;
    if (!source.needsTranscoding) return true;
    return mode === 'copy' ? source.canCopy : this.#deps.audio.isAvailable;
  }

  /** Retains everything for a viewer that waits for its start, and all of a recording without viewers. */
  #updateCacheMode(): void {
    const isUnwatched = this.#viewers.size === 0;
    this.#cache.retainAll =
      this.#waitingViewers > 0 ||
      this.#viewerExpectedUntilMs !== null ||
      (isUnwatched && this.#deps.kind === 'history');
  }

  #updateListeners(): void {
    let listeners = 0;
    for (const viewer of this.#viewers) if (viewer.tracks?.audio && viewer.options.audio === 'aac') listeners += 1;
    this.#deps.audio.listeners = listeners;
  }
}
