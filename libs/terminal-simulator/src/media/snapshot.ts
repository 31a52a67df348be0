import type { Clip } from './clip.ts';
import { ffmpegPath, runFfmpeg } from './ffmpeg.ts';

const taken = new Map<string, Promise<Buffer>>();

/** JPEG of a clip's first picture: what the camera "photographs". */
export function snapshot(clip: Clip, options: { ffmpegPath?: string } = {}): Promise<Buffer> {
  const known = taken.get(clip.key);
  if (known) return known;
  const format = clip.spec.codec === 'h264' ? 'h264' : 'hevc';
  const args = ['-f', format, '-i', clip.videoFile, '-frames:v', '1', '-q:v', '5', '-f', 'mjpeg', '-'];
  const made = runFfmpeg(ffmpegPath(options.ffmpegPath), args);
  taken.set(clip.key, made);
  made.catch(() => taken.delete(clip.key));
  return made;
}
