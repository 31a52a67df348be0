import { type Ffmpeg, FfmpegError, type FfmpegInput } from './ffmpeg.ts';

/** What a file holds, as far as an MP4 of it is concerned. */
export interface ClipProbe {
  /** Name of ffmpeg's demuxer. */
  readonly format: string;
  readonly video: string;
  /** Pictures in the file; counted only for elementary streams. */
  readonly frames: number;
  /** Pictures a second as the stream says itself; null for an elementary stream that does not say it. */
  readonly frameRate: number | null;
  readonly audio: { readonly codec: string; readonly sampleRate: number } | null;
}

/** Elementary streams: without a container, and so without times. */
export const rawFormats: readonly string[] = ['h264', 'hevc'];

/**
 * The only formats that ffmpeg may take a camera's file for. Others name further files and addresses (HLS, concat, DASH, SDP): with them a clip could bring
 * this machine's files into its MP4.
 */
const formats = 'h264,hevc,mpegts,mpeg,flv,avi,mov,matroska';

/** A rate that no stream has: where ffmpeg shows it, the stream says nothing of its own. */
const placeholderRate = 77;

/** How a camera's file is opened: as one of the known formats, and nothing else beside it. */
export const createUntrustedInput = (source: string, extraOptions: readonly string[] = []): FfmpegInput => ({
  source,
  options: [
    '-protocol_whitelist file,concat',
    `-format_whitelist ${formats}`,
    '-max_alloc 268435456',
    '-fflags +genpts',
    ...extraOptions,
  ],
});

/** Looks into a file; null where there is no video in it that ffmpeg can read. */
export async function probeClip(ffmpeg: Ffmpeg, path: string, signal: AbortSignal): Promise<ClipProbe | null> {
  const probe = await runProbe(ffmpeg, path, [], '-t 0', signal);
  if (probe === null || !rawFormats.includes(probe.format)) return probe;
  return runProbe(ffmpeg, path, [`-f ${probe.format}`, `-framerate ${placeholderRate}`], '-an', signal);
}

async function runProbe(
  ffmpeg: Ffmpeg,
  path: string,
  inputOptions: readonly string[],
  outputOption: string,
  signal: AbortSignal,
): Promise<ClipProbe | null> {
  try {
    const stderr = await ffmpeg.run(
      {
        inputs: [createUntrustedInput(`file:${path}`, inputOptions)],
        outputOptions: ['-map 0:v:0', '-c copy', outputOption, '-f null'],
        output: null,
      },
      signal,
    );
    return parseProbe(stderr);
  } catch (error) {
    if (!(error instanceof FfmpegError) || signal.aborted || !error.isAboutInput) throw error;
    return null;
  }
}

/** Reads what ffmpeg says of its first input: `Input #0, mpegts, from …` and `Stream #0:1[0x1c0]: Audio: pcm_alaw …, 8000 Hz, mono`. */
export function parseProbe(stderr: readonly string[]): ClipProbe | null {
  const format = findFirstMatch(stderr, /^Input #0, (\w+)/);
  const output = stderr.findIndex((line) => line.startsWith('Output #0'));
  const streams = stderr.slice(0, output === -1 ? stderr.length : output);
  const video = streams
    .map((line) => /^ *Stream #0:\d+.*?: Video: (\w+)(.*)/.exec(line))
    .find((match) => match !== null);
  const audio = streams
    .map((line) => /^ *Stream #0:\d+.*?: Audio: (\w+)(.*)/.exec(line))
    .find((match) => match !== null);
  if (format === undefined || video?.[1] === undefined) return null;
  const rate = /, ([\d.]+) fps/.exec(video[2] ?? '')?.[1];
  const frames = stderr.flatMap((line) => [...line.matchAll(/frame= *(\d+)/g)]).at(-1)?.[1];
  return {
    format,
    video: video[1],
    frames: Number(frames ?? 0),
    frameRate: rate === undefined || Number(rate) === placeholderRate ? null : Number(rate),
    audio:
      audio?.[1] === undefined || audio[1] === 'none'
        ? null
        : { codec: audio[1], sampleRate: Number(/, (\d+) Hz/.exec(audio[2] ?? '')?.[1] ?? 0) },
  };
}

const findFirstMatch = (lines: readonly string[], pattern: RegExp): string | undefined =>
  lines.map((line) => pattern.exec(line)?.[1]).find((found) => found !== undefined);

/** Pictures a second of an elementary stream: what it says; else what fills the clip's time; else the usual 25. */
export function getRawFrameRate(probes: readonly ClipProbe[], clipMs: number): number {
  const declared = probes[0]?.frameRate ?? null;
  if (declared !== null) return declared;
  const measured = (probes.reduce((sum, { frames }) => sum + frames, 0) * 1000) / clipMs;
  return measured >= 5 && measured <= 60 ? Math.round(measured * 1000) / 1000 : 25;
}
