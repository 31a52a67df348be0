import type { Clip } from './clip.ts';
import { getFfmpegPath, runFfmpeg } from './ffmpeg.ts';

const snapshotCache = new Map<string, Promise<Buffer>>();

/** Returns a JPEG of a clip's first picture, as the camera's photo. */
export function takeSnapshot(clip: Clip, options: { ffmpegPath?: string } = {}): Promise<Buffer> {
  const cached = snapshotCache.get(clip.key);
  if (cached) return cached;
  const format = clip.spec.codec === 'h264' ? 'h264' : 'hevc';
  const args = ['-f', format, '-i', clip.videoFile, '-frames:v', '1', '-q:v', '5', '-f', 'mjpeg', '-'];
  const created = runFfmpeg(getFfmpegPath(options.ffmpegPath), args);
  snapshotCache.set(clip.key, created);
  created.catch(() => snapshotCache.delete(clip.key));
  return created;
}
