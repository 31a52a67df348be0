import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { getFfmpegPath, runFfmpeg } from '@fleet/terminal-simulator';

/** Properties of a picture or a clip. */
interface MediaProbe {
  readonly durationSeconds: number;
  readonly video: { readonly codec: string; readonly tag: string; readonly width: number; readonly height: number };
  readonly audio: { readonly codec: string } | null;
}

interface ProbedStream {
  readonly codec_type: string;
  readonly codec_name: string;
  readonly codec_tag_string: string;
  readonly width?: number;
  readonly height?: number;
}

/** Returns the properties of a file by ffprobe. Throws if it cannot be decoded to its end. */
export async function probeMedia(bytes: Buffer): Promise<MediaProbe> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-media-'));
  const file = join(folder, 'media');
  writeFileSync(file, bytes);
  try {
    await runFfmpeg(getFfmpegPath(), ['-xerror', '-i', file, '-f', 'null', '-']);
    return await probe(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the properties of a file or of a stream that still runs, by ffprobe. */
export async function probe(source: string): Promise<MediaProbe> {
  const { stdout } = await promisify(execFile)(
    getFfprobePath(),
    ['-v', 'error', '-show_streams', '-show_format', '-of', 'json', source],
    { encoding: 'utf8' },
  );
  return toProbe(JSON.parse(stdout));
}

function toProbe({
  streams,
  format,
}: {
  readonly streams: readonly ProbedStream[];
  readonly format: { readonly duration?: string };
}): MediaProbe {
  const video = streams.find((stream) => stream.codec_type === 'video');
  const audio = streams.find((stream) => stream.codec_type === 'audio');
  if (video === undefined) throw new Error('the file has no picture');
  const { codec_name: codec, codec_tag_string: tag, width = 0, height = 0 } = video;
  return {
    durationSeconds: Number(format.duration ?? 0),
    video: { codec, tag, width, height },
    audio: audio === undefined ? null : { codec: audio.codec_name },
  };
}

function getFfprobePath(): string {
  const ffmpeg = getFfmpegPath();
  return ffmpeg.includes('/') ? join(dirname(ffmpeg), 'ffprobe') : 'ffprobe';
}
