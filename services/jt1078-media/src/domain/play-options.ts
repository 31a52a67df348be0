/** `aac`: what browsers play. `copy`: the camera's own sound, where FLV can carry it. */
export type AudioMode = 'aac' | 'copy' | 'none';

/** What a viewer asked for. */
export interface PlayOptions {
  readonly audio: AudioMode;
  /** H.265 as codec id 12 in place of enhanced tags. */
  readonly isLegacyHevc: boolean;
}

/** What the camera was asked to send. */
export type RequestedMedia = 'any' | 'video' | 'audio';

/**
 * JT/T 1078-2016 table 17 (0x9101: 0 both, 1 video, 2 intercom, 3 listen-in, 4 broadcast) and table 24 (0x9201: 0 both, 1 audio, 2 video, 3 either);
 * null when nobody said.
 */
export function getRequestedMedia(kind: 'live' | 'history', dataType: number | null): RequestedMedia {
  if (kind === 'live') return dataType === 1 ? 'video' : dataType === 2 || dataType === 3 ? 'audio' : 'any';
  return dataType === 1 ? 'audio' : dataType === 2 ? 'video' : 'any';
}

/** The tracks that a viewer is promised in the FLV header. */
export interface Tracks {
  readonly video: boolean;
  readonly audio: boolean;
}

/** What is known of a stream when a viewer's tracks are to be decided. */
export interface TrackFacts {
  readonly requestedMedia: RequestedMedia;
  readonly audioMode: AudioMode;
  /** How long the first key frame is past; null before it. */
  readonly sinceKeyFrameMs: number | null;
  /** Whether the camera's sound reaches this viewer; null while there is no sound. */
  readonly isAudioPlayable: boolean | null;
  /** Sound has come whose form is being found out, which takes a few seconds at most. */
  readonly isAudioAwaited: boolean;
  /** How long this viewer has waited since the stream's first packet. */
  readonly waitedMs: number;
  readonly firstFrameWaitMs: number;
}

/** After the first key frame, how long sound is waited for before a viewer is told that there is none. */
export const audioWaitMs = 1_000;

/**
 * Decides a viewer's tracks. The FLV header is a promise: players wait for each announced track before they show anything, and take none that comes
 * unannounced. `wait` until more is known; `none` when there is nothing to play.
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
