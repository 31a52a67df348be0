import { rm, symlink } from 'node:fs/promises';
import { type Ffmpeg, FfmpegError } from '../clips/ffmpeg.ts';

/** Size of a picture in pixels. */
interface Size {
  readonly width: number;
  readonly height: number;
}

/** A rendered thumbnail, and the properties of its file. */
export interface RenderedThumbnail {
  readonly source: Size;
  readonly thumbnail: Size;
  /** Null if the file declares none. */
  readonly durationMs: number | null;
}

/** Largest size of a thumbnail. */
const box = { width: 320, height: 240 } as const;

/**
 * The only formats that ffmpeg may detect in a file of a terminal. Others refer to further files and addresses, so that
 * a picture could show files of this machine.
 */
const formats =
  'jpeg_pipe,mjpeg,png_pipe,gif,bmp_pipe,tiff_pipe,webp_pipe,h264,hevc,mpegts,mpeg,flv,avi,mov,matroska,asf';

const scaling = `-vf scale=w='min(iw,${box.width})':h='min(ih,${box.height})':force_original_aspect_ratio=decrease`;

/**
 * Renders the first readable picture of a file as JPEG. Returns null if it has none. Throws if ffmpeg could not run, or
 * took too long.
 */
export async function renderThumbnail(
  ffmpeg: Ffmpeg,
  path: string,
  output: string,
  signal: AbortSignal,
): Promise<RenderedThumbnail | null> {
  const options = ['-protocol_whitelist file', `-format_whitelist ${formats}`, '-max_alloc 268435456'];
  const outputOptions = ['-y', '-map 0:v:0', '-frames:v 1', scaling, '-q:v 5', '-f mjpeg'];
  // ffmpeg would choose a format by the extension, and names given by cameras never appear on a command line.
  const input = `${output}-source`;
  await symlink(path, input);
  try {
    const inputs = [{ source: `file:${input}`, options }];
    return parseSizes(await ffmpeg.run({ inputs, outputOptions, output }, signal));
  } catch (error) {
    if (!(error instanceof FfmpegError) || signal.aborted || !error.isAboutInput) throw error;
    return null;
  } finally {
    await rm(input, { force: true });
  }
}

/**
 * Parses what ffmpeg prints about its input and output: `Stream #0:0: Video: mjpeg (Baseline), yuvj420p(pc), 640x360`.
 */
function parseSizes(stderr: readonly string[]): RenderedThumbnail | null {
  const sizes = stderr.flatMap((line) => {
    const [, width, height] = /^ *Stream #0:\d+.*?: Video: .*?, (\d{1,5})x(\d{1,5})/.exec(line) ?? [];
    return width === undefined ? [] : [{ width: Number(width), height: Number(height) }];
  });
  const [source, thumbnail] = [sizes[0], sizes.at(-1)];
  // ffmpeg succeeds without a single picture in some damaged files.
  const hasPicture = stderr.some((line) => /frame= *[1-9]/.test(line));
  if (source === undefined || thumbnail === undefined || sizes.length < 2 || !hasPicture) return null;
  return { source, thumbnail, durationMs: parseDurationMs(stderr) };
}

function parseDurationMs(stderr: readonly string[]): number | null {
  const line = stderr.find((each) => each.startsWith('  Duration: ')) ?? '';
  const [, hours, minutes, seconds] = /Duration: (\d+):(\d\d):(\d\d\.\d+)/.exec(line) ?? [];
  return hours === undefined
    ? null
    : Math.round((Number(hours) * 3_600 + Number(minutes) * 60 + Number(seconds)) * 1000);
}
