/** Audio of a viewer. `aac`: playable in browsers. `copy`: the camera's own codec, where FLV supports it. */
export type AudioMode = 'aac' | 'copy' | 'none';

/** Options requested by a viewer. */
export interface PlayOptions {
  readonly audio: AudioMode;
  /** H.265 as codec id 12 instead of enhanced tags. */
  readonly isLegacyHevc: boolean;
}

/** Media that the camera was requested to send. */
export type RequestedMedia = 'any' | 'video' | 'audio';

/**
 * Decodes the data type of 0x9101 (JT/T 1078-2016 table 17: 0 both, 1 video, 2 intercom, 3 listen-in, 4 broadcast) or
 * of 0x9201 (table 24: 0 both, 1 audio, 2 video, 3 either). Null means unknown.
 */
export function getRequestedMedia(kind: 'live' | 'history', dataType: number | null): RequestedMedia {
  if (kind === 'live') return dataType === 1 ? 'video' : dataType === 2 || dataType === 3 ? 'audio' : 'any';
  return dataType === 1 ? 'audio' : dataType === 2 ? 'video' : 'any';
}

/** Tracks declared to a viewer in the FLV header. */
export interface Tracks {
  readonly video: boolean;
  readonly audio: boolean;
}

/** State of a stream from which the tracks of a viewer are decided. */
export interface TrackFacts {
  readonly requestedMedia: RequestedMedia;
  readonly audioMode: AudioMode;
  /** Time since the first key frame; null before it. */
  readonly sinceKeyFrameMs: number | null;
  /** Whether the camera's audio reaches this viewer; null while there is none. */
  readonly isAudioPlayable: boolean | null;
  /** Audio has arrived, but its format is still being determined, which takes a few seconds at most. */
  readonly isAudioAwaited: boolean;
  /** Time that this viewer has waited since the first packet of the stream. */
  readonly waitedMs: number;
  readonly firstFrameWaitMs: number;
}

/** Time to wait for audio after the first key frame before it is declared absent. */
const audioWaitMs = 1_000;

/**
 * Decides the tracks of a viewer. The FLV header is binding: players wait for each declared track before they display
 * anything, and ignore undeclared ones. Returns `wait` until more is known, and `none` when there is nothing to play.
 */
export function decideTracks(facts: TrackFacts): Tracks | 'wait' | 'none' {
  const { requestedMedia, audioMode, sinceKeyFrameMs, isAudioPlayable, isAudioAwaited, waitedMs, firstFrameWaitMs } =
    facts;
  const isLate = waitedMs >= firstFrameWaitMs;
  if (requestedMedia === 'audio') {
    if (isAudioPlayable === null) return isLate ? 'none' : 'wait';
    return isAudioPlayable ? { video: false, audio: true } : 'none';
  }
  if (sinceKeyFrameMs === null) {
    if (!isLate) return 'wait';
    return requestedMedia === 'any' && isAudioPlayable === true ? { video: false, audio: true } : 'none';
  }
  if (requestedMedia === 'video' || audioMode === 'none') return { video: true, audio: false };
  if (isAudioPlayable === null && (isAudioAwaited || sinceKeyFrameMs < audioWaitMs)) return 'wait';
  return { video: true, audio: isAudioPlayable ?? false };
}
