import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg, FfmpegInput } from './ffmpeg.ts';
import { type ClipProbe, createUntrustedInput, getRawFrameRate, probeClip, rawFormats } from './probe-clip.ts';

/** Thrown for a clip that can never be converted to MP4. The message is a sentence for the caller. */
export class NotConvertibleError extends Error {
  override readonly name = 'NotConvertibleError';
}

/** Video codecs of cameras that MP4 supports. Video is never encoded again. */
const videoCodecs: readonly string[] = ['h264', 'hevc', 'mpeg4'];
/** Audio codecs that browsers play in an MP4. All others are encoded as AAC. */
const audioCodecs: readonly string[] = ['aac', 'mp3'];

/** One input of the MP4: a file, or elementary streams that are concatenated byte by byte. */
interface Segment {
  readonly paths: readonly string[];
  readonly probes: readonly [ClipProbe, ...ClipProbe[]];
}

type Sound = 'none' | 'copy' | 'encode' | 'encodeAlike' | 'silence';

interface RemuxOptions {
  readonly ffmpeg: Ffmpeg;
  /** Files in the order in which the camera sent them. */
  readonly files: readonly string[];
  readonly workDir: string;
  /** The clip's duration, for streams that do not declare a frame rate. */
  readonly clipMs: number;
  readonly signal: AbortSignal;
  /** Called with the converted part of the clip, from 0 to 1. */
  readonly onProgress?: ((fraction: number) => void) | undefined;
}

/**
 * Converts a clip's files to one MP4 in `workDir` and returns its path. Files without video (pictures, indexes) are
 * omitted.
 */
export async function remuxClip(options: RemuxOptions): Promise<string> {
  const segments = await readSegments(options);
  const output = join(options.workDir, 'clip.mp4');
  const [only] = segments;
  if (only !== undefined && segments.length === 1)
    await remuxSegment(options, only, chooseSound(only), output, ['-movflags +faststart']);
  else await joinSegments(options, segments, output);
  if ((await probeClip(options.ffmpeg, output, options.signal)) === null)
    throw new NotConvertibleError('The clip has no readable picture.');
  return output;
}

async function readSegments({ ffmpeg, files, workDir, signal }: RemuxOptions): Promise<Segment[]> {
  const segments: Segment[] = [];
  for (const [index, file] of files.entries()) {
    // File names chosen by a camera never appear on a command line.
    const path = join(workDir, `input-${index}`);
    await symlink(file, path);
    const probe = await probeClip(ffmpeg, path, signal);
    if (probe === null || probe.video === 'mjpeg') continue;
    if (!videoCodecs.includes(probe.video))
      throw new NotConvertibleError(`The clip's video is ${probe.video}, which MP4 players cannot show.`);
    const last = segments.at(-1);
    // A camera may cut an elementary stream anywhere, even within a frame.
    if (last !== undefined && rawFormats.includes(probe.format) && last.probes[0].format === probe.format)
      segments[segments.length - 1] = { paths: [...last.paths, path], probes: [...last.probes, probe] };
    else segments.push({ paths: [path], probes: [probe] });
  }
  if (segments.length === 0) throw new NotConvertibleError('The clip has no readable video.');
  return segments;
}

function chooseSound({ probes: [probe] }: Segment): Sound {
  if (probe.audio === null) return 'none';
  return audioCodecs.includes(probe.audio.codec) ? 'copy' : 'encode';
}

/** Remuxes each segment with the same audio format and joins the results with consecutive timestamps. */
async function joinSegments(options: RemuxOptions, segments: readonly Segment[], output: string): Promise<void> {
  const hasSound = segments.some(({ probes: [probe] }) => probe.audio !== null);
  const names: string[] = [];
  for (const [index, segment] of segments.entries()) {
    const name = `part-${index}.mp4`;
    const sound = !hasSound ? 'none' : segment.probes[0].audio === null ? 'silence' : 'encodeAlike';
    // Joining uses the time base of the first part for all parts.
    const onProgress = (fraction: number): void =>
      options.onProgress?.((index + Math.min(1, fraction * segments.length)) / segments.length);
    const partOptions = { ...options, onProgress };
    await remuxSegment(partOptions, segment, sound, join(options.workDir, name), ['-video_track_timescale 90000']);
    names.push(name);
  }
  const list = join(options.workDir, 'parts.txt');
  await writeFile(list, names.map((name) => `file ${name}\n`).join(''));
  await options.ffmpeg.run(
    {
      inputs: [{ source: list, options: ['-protocol_whitelist file', '-f concat'] }],
      outputOptions: ['-map 0', '-c copy', ...getVideoTagOptions(segments[0]), ...mp4Options, '-movflags +faststart'],
      output,
    },
    options.signal,
  );
}

const mp4Options = ['-map_metadata -1', '-map_chapters -1', '-fflags +bitexact', '-f mp4'];

// Apple players recognize H.265 in MP4 only by this tag.
const getVideoTagOptions = (segment: Segment | undefined): string[] =>
  segment?.probes[0].video === 'hevc' ? ['-tag:v hvc1'] : [];

async function remuxSegment(
  { ffmpeg, clipMs, signal, onProgress }: RemuxOptions,
  segment: Segment,
  sound: Sound,
  output: string,
  extraOptions: readonly string[],
): Promise<void> {
  const { format } = segment.probes[0];
  const isRaw = rawFormats.includes(format);
  // Elementary streams have no timestamps.
  const times = isRaw ? [`-bsf:v setts=ts=N/TB/${getRawFrameRate(segment.probes, clipMs)}`] : [];
  await ffmpeg.run(
    {
      inputs: [
        createUntrustedInput(toInputSource(segment), isRaw ? [`-f ${format}`] : []),
        ...(sound === 'silence' ? [silence] : []),
      ],
      outputOptions: [
        '-map 0:v:0',
        '-c:v copy',
        ...times,
        ...getVideoTagOptions(segment),
        ...getSoundOptions(sound, segment.probes[0].audio),
        ...mp4Options,
        ...extraOptions,
      ],
      output,
      onTime: (timeMs) => onProgress?.(Math.min(1, timeMs / clipMs)),
    },
    signal,
  );
}

const toInputSource = ({ paths: [path = '', ...others] }: Segment): string =>
  others.length === 0 ? `file:${path}` : `concat:${[path, ...others].map((each) => `file:${each}`).join('|')}`;

const silence: FfmpegInput = { source: 'anullsrc=r=16000:cl=mono', options: ['-f lavfi'] };

function getSoundOptions(sound: Sound, audio: ClipProbe['audio']): string[] {
  // G.726 code words are shorter than a byte, and containers count them wrongly. Only the number of samples is
  // reliable.
  const times = audio?.codec.startsWith('g726') === true ? ['-af asetpts=N/SR/TB'] : [];
  const narrow = ['-c:a aac', '-ar 16000', '-b:a 32k'];
  switch (sound) {
    case 'none':
      return [];
    case 'copy':
      return ['-map 0:a:0', '-c:a copy'];
    case 'encode':
      return ['-map 0:a:0', ...((audio?.sampleRate ?? 0) > 16_000 ? ['-c:a aac', '-b:a 96k'] : narrow), ...times];
    case 'encodeAlike':
      return ['-map 0:a:0', ...narrow, '-ac 1', ...times];
    case 'silence':
      return ['-map 1:a:0', ...narrow, '-shortest'];
    default:
      return sound satisfies never;
  }
}
