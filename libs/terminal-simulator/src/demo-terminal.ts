import { trackForVehicle } from './built-in-tracks.ts';
import { cameraClips } from './camera-clips.ts';
import type { AudioCodec, VideoCodec } from './media/clip-spec.ts';
import { defaultClipSpec } from './media/clip-spec.ts';
import { makeRecordings } from './recordings.ts';
import { SimulatedTerminal } from './terminal.ts';
import type { TerminalOptions } from './terminal-options.ts';

/** Settings of a complete demo vehicle. */
export interface DemoTerminalOptions {
  channels: number;
  video: VideoCodec;
  audio: AudioCodec;
  cacheDir: string;
  mediaHost?: string | undefined;
  /** Recordings of a minute on each camera's disk. */
  recordings: number;
  /** Place in the fleet: picks track, starting point and plate. */
  index: number;
  onProgress?: ((message: string) => void) | undefined;
}

const TRACK_OFFSET_MS = 4 * 60_000;

/** A vehicle with track, cameras and a full disk; `terminal` has its connection and whatever else is to differ. */
export function demoTerminal(terminal: TerminalOptions, options: DemoTerminalOptions): SimulatedTerminal {
  const { channels, video, audio, cacheDir, mediaHost, index, onProgress } = options;
  const numbers = Array.from({ length: channels }, (_unused, at) => at + 1);
  const plan = { channels: numbers, count: options.recordings, seconds: 60, until: new Date() };
  return new SimulatedTerminal({
    channels,
    camera: { video, audio },
    clips: cameraClips(terminal.phone, { cacheDir, onProgress }, { main: { codec: video, audio } }),
    mediaHost,
    track: trackForVehicle(index),
    trackOffsetMs: index * TRACK_OFFSET_MS,
    recordings: makeRecordings({ ...plan, bitrateKbps: defaultClipSpec.bitrateKbps }),
    ...terminal,
  });
}
