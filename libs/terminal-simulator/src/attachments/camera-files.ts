import { recordingFile } from '../media/recording-file.ts';
import { snapshot } from '../media/snapshot.ts';
import type { SimulatedTerminal } from '../terminal.ts';
import type { AlarmFile } from './safety-alarms.ts';

const filmSeconds = 5;

/** What the cameras of a terminal have of this moment: a picture, and a film of a few seconds; none where it has no camera. */
export async function cameraFiles(terminal: SimulatedTerminal): Promise<AlarmFile[]> {
  const { cameras } = terminal;
  if (!cameras.has(1)) return [];
  const [picture, film] = await Promise.all([
    cameras.clip(1, 'sub').then((clip) => snapshot(clip)),
    cameras.clip(1, 'main').then((clip) => recordingFile(clip, filmSeconds, 0)),
  ]);
  return [
    { content: picture, type: 0 },
    { content: film, type: 2, channel: 1 },
  ];
}
