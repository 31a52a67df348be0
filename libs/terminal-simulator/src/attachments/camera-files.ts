import { createRecordingFile } from '../media/recording-file.ts';
import { takeSnapshot } from '../media/snapshot.ts';
import type { SimulatedTerminal } from '../terminal.ts';
import type { AlarmFile } from './safety-alarms.ts';

const videoSeconds = 5;

/** Captures a picture and a video of a few seconds from a terminal's cameras; returns no files if it has no camera. */
export async function captureCameraFiles(terminal: SimulatedTerminal): Promise<AlarmFile[]> {
  const { cameras } = terminal;
  if (!cameras.hasChannel(1)) return [];
  const [picture, video] = await Promise.all([
    cameras.clip(1, 'sub').then((clip) => takeSnapshot(clip)),
    cameras.clip(1, 'main').then((clip) => createRecordingFile(clip, videoSeconds, 0)),
  ]);
  return [
    { content: picture, type: 0 },
    { content: video, type: 2, channel: 1 },
  ];
}
