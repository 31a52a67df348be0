import type { Clip } from './clip.ts';
import { getFfmpegPath, runFfmpeg } from './ffmpeg.ts';

/** Returns the MD5 of each decoded picture from the output of ffmpeg's framemd5 muxer. */
export function parseFrameMd5(text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(',').at(-1)?.trim() ?? '');
}

/**
 * Returns the MD5 of each picture that a file (elementary stream, FLV ...) decodes to. Compare with those of the clip
 * to verify that a viewer received the pictures that the camera encoded.
 */
export async function decodedFrameHashes(
  file: string,
  options: { format?: string; ffmpegPath?: string } = {},
): Promise<string[]> {
  const input = options.format === undefined ? [] : ['-f', options.format];
  const args = [...input, '-i', file, '-map', '0:v:0', '-fps_mode', 'passthrough', '-f', 'framemd5', '-'];
  return parseFrameMd5((await runFfmpeg(getFfmpegPath(options.ffmpegPath), args)).toString());
}

/** Returns the MD5 of each picture of a clip: entry i belongs to `clip.videoFrames[i]`. */
export function clipFrameHashes(clip: Clip, options: { ffmpegPath?: string } = {}): Promise<string[]> {
  return decodedFrameHashes(clip.videoFile, { ...options, format: clip.spec.codec === 'h264' ? 'h264' : 'hevc' });
}
