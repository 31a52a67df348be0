/** Modes of 0x9201, JT/T 1078-2016 table 24. */
export const PlaybackMode = {
  normal: 0,
  fastForward: 1,
  keyFrameRewind: 2,
  keyFrames: 3,
  singleFrame: 4,
} as const;

/** Controls of 0x9202, JT/T 1078-2016 table 25. */
export const PlaybackControl = {
  play: 0,
  pause: 1,
  stop: 2,
  fastForward: 3,
  keyFrameRewind: 4,
  seek: 5,
  keyFrames: 6,
} as const;

/**
 * Source of a viewer's timestamps: the device's clock, or the arrival if that clock runs faster, backwards or in leaps.
 */
export type TimestampSource = 'device' | 'arrival';

/** Returns the timestamp source with which a playback begins. */
export const getTimestampSource = (mode: number): TimestampSource =>
  mode === PlaybackMode.normal || mode === PlaybackMode.singleFrame ? 'device' : 'arrival';

/**
 * Returns the effect of a control on the recording's clock: a new timestamp source, `same` for a seek, undefined
 * without an effect.
 */
export function getTimestampChange(control: number): TimestampSource | 'same' | undefined {
  switch (control) {
    case PlaybackControl.play:
      return 'device';
    case PlaybackControl.fastForward:
    case PlaybackControl.keyFrameRewind:
    case PlaybackControl.keyFrames:
      return 'arrival';
    case PlaybackControl.seek:
      return 'same';
    default:
      return undefined;
  }
}
