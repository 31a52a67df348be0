import { trackForVehicle } from './built-in-tracks.ts';
import { createCameraClips } from './camera-clips.ts';
import type { AudioCodec, VideoCodec } from './media/clip-spec.ts';
import { defaultClipSpec } from './media/clip-spec.ts';
import { SimulatedTerminal } from './terminal.ts';
import type { TerminalOptions } from './terminal-options.ts';

/** Options of a complete demo vehicle. */
export interface DemoTerminalOptions {
  channels: number;
  video: VideoCodec;
  audio: AudioCodec;
  cacheDir: string;
  mediaHost?: string | undefined;
  /** One-minute recordings on each camera's disk at the start. 0: the cameras do not record. */
  recordings: number;
  /** Index in the fleet; determines track, starting point and plate. */
  index: number;
  onProgress?: ((message: string) => void) | undefined;
}

const trackOffsetStepMs = 4 * 60_000;
const recordingSeconds = 60;
const dayMs = 86_400_000;

/**
 * Creates a vehicle with a track and cameras that record continuously. `terminal` contains its connection and any other
 * differing options.
 */
export function createDemoTerminal(terminal: TerminalOptions, options: DemoTerminalOptions): SimulatedTerminal {
  const { channels, video, audio, cacheDir, mediaHost, index, onProgress } = options;
  const channelNumbers = Array.from({ length: channels }, (_unused, at) => at + 1);
  const count = options.recordings;
  const recorder = {
    channels: channelNumbers,
    count,
    seconds: recordingSeconds,
    bitrateKbps: defaultClipSpec.bitrateKbps,
    zoneMinutes: terminal.zoneMinutes,
    startedAt: new Date(),
    retentionMs: Math.max(dayMs, count * recordingSeconds * 1000),
  };
  return new SimulatedTerminal({
    channels,
    camera: { video, audio },
    clips: createCameraClips(terminal.phone, { cacheDir, onProgress }, { main: { codec: video, audio } }),
    mediaHost,
    track: trackForVehicle(index),
    trackOffsetMs: index * trackOffsetStepMs,
    recorder: count === 0 ? undefined : recorder,
    ...terminal,
  });
}
