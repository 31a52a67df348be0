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

/** How a recording's timestamps become a viewer's: by the device's clock, or by arrival where that clock runs faster, backwards or in leaps. */
export type Pace = 'device' | 'arrival';

/** The pace with which a playback begins. */
export const paceOfMode = (mode: number): Pace =>
  mode === PlaybackMode.normal || mode === PlaybackMode.singleFrame ? 'device' : 'arrival';

/** What a control does to the clock of the recording: its new pace, `same` for a seek, undefined when it does nothing to it. */
export function clockChangeOf(control: number): Pace | 'same' | undefined {
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
