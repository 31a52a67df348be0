import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { PayloadType } from '@fleet/jt1078';
import { audioArguments, audioForm, audioFrames } from './audio-frames.ts';
import { type ClipSpec, clipKey, clipSpec } from './clip-spec.ts';
import { splitDelimitedStream } from './elementary-stream.ts';
import { ffmpegPath, runFfmpeg } from './ffmpeg.ts';
import { stampFilters } from './stamp.ts';

/** One frame of a clip; `sha256` identifies its bytes wherever they are found again. */
export interface ClipFrame {
  index: number;
  data: Buffer;
  isKeyFrame: boolean;
  sha256: string;
}

/** A clip in memory, cut into frames. Shared by all cameras that show it. */
export interface Clip {
  spec: ClipSpec;
  key: string;
  /** Elementary stream as ffmpeg wrote it, for decoding the clip itself. */
  videoFile: string;
  audioFile: string | null;
  videoPayloadType: number;
  audioPayloadType: number | null;
  videoFrames: readonly ClipFrame[];
  audioFrames: readonly ClipFrame[];
  /** Time of one audio frame. */
  audioFrameMs: number;
}

/** Where clips are kept and how they are made. */
export interface ClipOptions {
  /** Directory for made clips; an ignored one. */
  cacheDir: string;
  ffmpegPath?: string | undefined;
  /** Told when a clip has to be made, which takes about a second; not when it comes from the cache. */
  onProgress?: ((message: string) => void) | undefined;
}

const DEFAULT_CACHE_DIR = path.join('.cache', 'clips');

/** Directory that clips are cached in unless another is given. */
export const defaultCacheDir = (): string => path.resolve(DEFAULT_CACHE_DIR);

function videoArguments(spec: ClipSpec, file: string): string[] {
  const picture = `testsrc2=size=${spec.width}x${spec.height}:rate=${spec.fps}:duration=${spec.seconds}`;
  const filters = [...stampFilters(spec.stamp, spec.width), 'format=yuv420p'].join(',');
  const rate = ['-b:v', `${spec.bitrateKbps}k`, '-maxrate', `${spec.bitrateKbps}k`, '-bufsize', `${spec.bitrateKbps}k`];
  const common = ['-f', 'lavfi', '-i', picture, '-vf', filters, '-threads', '1', ...rate];
  // Baseline without B frames and one thread: what cameras send, and the same bytes on every run.
  const { gop } = spec;
  const x264 = [
    ...['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'veryfast', '-g', `${gop}`, '-keyint_min', `${gop}`],
    ...['-bf', '0', '-sc_threshold', '0', '-x264-params', 'aud=1', '-f', 'h264'],
  ];
  const x265Params = `aud=1:bframes=0:keyint=${gop}:min-keyint=${gop}:scenecut=0:open-gop=0:repeat-headers=1:log-level=error:pools=none:frame-threads=1`;
  const x265 = ['-c:v', 'libx265', '-preset', 'ultrafast', '-x265-params', x265Params, '-f', 'hevc'];
  return [...common, ...(spec.codec === 'h264' ? x264 : x265), '-y', file];
}

/** Gives the file, making it first where it is not there. Several processes may do so at once: the last rename wins. */
async function cachedFile(file: string, make: (temporary: string) => Promise<unknown>): Promise<Buffer> {
  const present = await readFile(file).catch(() => null);
  if (present !== null && present.length > 0) return present;
  const temporary = `${file}.${randomUUID()}.part`;
  try {
    await make(temporary);
    await rename(temporary, file);
  } finally {
    await rm(temporary, { force: true });
  }
  return readFile(file);
}

function numbered(frames: readonly { data: Buffer; isKeyFrame: boolean }[]): ClipFrame[] {
  return frames.map(({ data, isKeyFrame }, index) => ({
    index,
    data,
    isKeyFrame,
    sha256: createHash('sha256').update(data).digest('hex'),
  }));
}

async function build(spec: ClipSpec, key: string, options: ClipOptions): Promise<Clip> {
  await mkdir(options.cacheDir, { recursive: true });
  const ffmpeg = ffmpegPath(options.ffmpegPath);
  const videoFile = path.join(options.cacheDir, `${key}.${spec.codec}`);
  const form = audioForm(spec.audio);
  const audioFile = form === null ? null : path.join(options.cacheDir, `${key}.${spec.audio}.raw`);
  const video = await cachedFile(videoFile, (temporary) => {
    options.onProgress?.(`making clip ${spec.width}x${spec.height} ${spec.codec} ${spec.stamp}`.trim());
    return runFfmpeg(ffmpeg, videoArguments(spec, temporary));
  });
  const audio =
    form === null || audioFile === null
      ? []
      : audioFrames(
          await cachedFile(audioFile, (temporary) => runFfmpeg(ffmpeg, audioArguments(spec, form, temporary))),
          spec,
          form,
        );
  return {
    spec,
    key,
    videoFile,
    audioFile,
    videoPayloadType: spec.codec === 'h264' ? PayloadType.H264 : PayloadType.H265,
    audioPayloadType: form?.payloadType ?? null,
    videoFrames: numbered(splitDelimitedStream(video, spec.codec)),
    audioFrames: numbered(audio.map((data) => ({ data, isKeyFrame: true }))),
    audioFrameMs: form?.frameMs ?? 0,
  };
}

const inMemory = new Map<string, Promise<Clip>>();

/** Makes a clip with ffmpeg, or takes it from the cache. The same clip is one object for all who ask in this process. */
export function makeClip(partial: Partial<ClipSpec>, options: ClipOptions): Promise<Clip> {
  const spec = clipSpec(partial);
  const key = clipKey(spec);
  const slot = path.join(options.cacheDir, key);
  const known = inMemory.get(slot);
  if (known) return known;
  const made = build(spec, key, options);
  inMemory.set(slot, made);
  made.catch(() => inMemory.delete(slot));
  return made;
}
