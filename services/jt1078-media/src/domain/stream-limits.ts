/** Timeouts and limits of a stream. */
export interface StreamLimits {
  readonly idleStopMs: number;
  readonly graceMs: number;
  readonly dataTimeoutMs: number;
  readonly firstFrameWaitMs: number;
  /** Limits of the cached group of pictures, and of the beginning of a recording that waits for its first viewer. */
  readonly maxCacheTags: number;
  readonly maxCacheBytes: number;
  /** Queue length of one recording viewer at which the camera is paused although other viewers could accept more. */
  readonly hardQueueBytes: number;
}
