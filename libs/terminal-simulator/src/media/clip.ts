import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { PayloadType } from '@fleet/jt1078';
import {
  type AudioFormat,
  audioInputArguments,
  audioOutputArguments,
  getAudioFormat,
  splitAudioFrames,
} from './audio-frames.ts';
import { type ClipSpec, clipKey, resolveClipSpec } from './clip-spec.ts';
import { splitDelimitedStream } from './elementary-stream.ts';
import { getFfmpegPath, runFfmpeg } from './ffmpeg.ts';
import { createNumberFilters } from './number-overlay.ts';

/** One frame of a clip; `sha256` identifies its bytes in received streams. */
export interface ClipFrame {
  index: number;
  data: Buffer;
  isKeyFrame: boolean;
  sha256: string;
}

/** A clip in memory, split into frames. All cameras with the same content share it. */
export interface Clip {
  spec: ClipSpec;
  key: string;
  /** Elementary stream as written by ffmpeg, for decoding the clip itself. */
  videoFile: string;
  audioFile: string | null;
  videoPayloadType: number;
  audioPayloadType: number | null;
  videoFrames: readonly ClipFrame[];
  audioFrames: readonly ClipFrame[];
  /** Duration of one audio frame. */
  audioFrameMs: number;
}

/** Options for creating and caching clips. */
export interface ClipOptions {
  /** Cache directory; must be ignored by git. */
  cacheDir: string;
  ffmpegPath?: string | undefined;
  /** Called when a clip has to be created, which takes about a second; not called for a cached clip. */
  onProgress?: ((message: string) => void) | undefined;
}

const defaultCachePath = path.join('.cache', 'clips');

/** Returns the default cache directory of clips. */
export const getDefaultCacheDir = (): string => path.resolve(defaultCachePath);

function videoArguments(spec: ClipSpec): string[] {
  const { gop, bitrateKbps } = spec;
  const rate = ['-b:v', `${bitrateKbps}k`, '-maxrate', `${bitrateKbps}k`, '-bufsize', `${bitrateKbps}k`];
  // Baseline without B frames and with one thread: as cameras send it, and identical bytes on every run.
  const common = ['-preset', 'ultrafast', '-threads', '1', '-bf', '0', '-g', `${gop}`, ...rate];
  if (spec.codec === 'h264') {
    const keyFrames = ['-keyint_min', `${gop}`, '-sc_threshold', '0', '-x264-params', 'aud=1'];
    return ['-c:v', 'libx264', '-profile:v', 'baseline', ...common, ...keyFrames, '-f', 'h264'];
  }
  const params = `aud=1:keyint=${gop}:min-keyint=${gop}:scenecut=0:open-gop=0:repeat-headers=1:log-level=error:pools=none:frame-threads=1`;
  return ['-c:v', 'libx265', ...common, '-x265-params', params, '-f', 'hevc'];
}

// One ffmpeg process creates video and audio, since starting it takes as long as encoding.
function ffmpegArguments(spec: ClipSpec, format: AudioFormat | null, videoFile: string, audioFile: string): string[] {
  const picture = `testsrc2=size=${spec.width}x${spec.height}:rate=${spec.fps}:duration=${spec.seconds}`;
  const filters = [...createNumberFilters(spec.stamp, spec.width), 'format=yuv420p'].join(',');
  const sound = format === null ? [] : audioInputArguments(spec, format);
  const soundOutput = format === null ? [] : ['-map', '1:a', ...audioOutputArguments(format), audioFile];
  const pictureOutput = ['-map', '0:v', '-vf', filters, ...videoArguments(spec), videoFile];
  return ['-y', '-filter_threads', '1', '-f', 'lavfi', '-i', picture, ...sound, ...pictureOutput, ...soundOutput];
}

const readIfExists = (file: string): Promise<Buffer | null> => readFile(file).catch(() => null);

/**
 * Returns the two files of a clip; creates them if they do not exist. Several processes may do so concurrently: the
 * last rename wins.
 */
async function ensureClipFiles(spec: ClipSpec, key: string, format: AudioFormat | null, options: ClipOptions) {
  await mkdir(options.cacheDir, { recursive: true });
  const videoFile = path.join(options.cacheDir, `${key}.${spec.codec}`);
  const audioFile = path.join(options.cacheDir, `${key}.${spec.audio}.raw`);
  const [cachedVideo, cachedAudio] = [
    await readIfExists(videoFile),
    format === null ? Buffer.alloc(0) : await readIfExists(audioFile),
  ];
  if (cachedVideo !== null && cachedAudio !== null)
    return { videoFile, audioFile, video: cachedVideo, audio: cachedAudio };
  options.onProgress?.(`creating clip ${spec.width}x${spec.height} ${spec.codec} ${spec.stamp}`.trim());
  const suffix = `.${randomUUID()}.part`;
  try {
    const args = ffmpegArguments(spec, format, videoFile + suffix, audioFile + suffix);
    await runFfmpeg(getFfmpegPath(options.ffmpegPath), args);
    if (format !== null) await rename(audioFile + suffix, audioFile);
    await rename(videoFile + suffix, videoFile);
  } finally {
    await rm(videoFile + suffix, { force: true });
    await rm(audioFile + suffix, { force: true });
  }
  const audio = format === null ? Buffer.alloc(0) : await readFile(audioFile);
  return { videoFile, audioFile, video: await readFile(videoFile), audio };
}

function indexFrames(frames: readonly { data: Buffer; isKeyFrame: boolean }[]): ClipFrame[] {
  return frames.map(({ data, isKeyFrame }, index) => ({
    index,
    data,
    isKeyFrame,
    sha256: createHash('sha256').update(data).digest('hex'),
  }));
}

async function buildClip(spec: ClipSpec, key: string, options: ClipOptions): Promise<Clip> {
  const format = getAudioFormat(spec.audio);
  const files = await ensureClipFiles(spec, key, format, options);
  const audio = format === null ? [] : splitAudioFrames(files.audio, spec, format);
  return {
    spec,
    key,
    videoFile: files.videoFile,
    audioFile: format === null ? null : files.audioFile,
    videoPayloadType: spec.codec === 'h264' ? PayloadType.H264 : PayloadType.H265,
    audioPayloadType: format?.payloadType ?? null,
    videoFrames: indexFrames(splitDelimitedStream(files.video, spec.codec)),
    audioFrames: indexFrames(audio.map((data) => ({ data, isKeyFrame: true }))),
    audioFrameMs: format?.frameMs ?? 0,
  };
}

const clipCache = new Map<string, Promise<Clip>>();

/** Creates a clip with ffmpeg, or reads it from the cache. All callers in this process share one object per clip. */
export function createClip(partial: Partial<ClipSpec>, options: ClipOptions): Promise<Clip> {
  const spec = resolveClipSpec(partial);
  const key = clipKey(spec);
  const cacheKey = path.join(options.cacheDir, key);
  const cached = clipCache.get(cacheKey);
  if (cached) return cached;
  const created = buildClip(spec, key, options);
  clipCache.set(cacheKey, created);
  created.catch(() => clipCache.delete(cacheKey));
  return created;
}
