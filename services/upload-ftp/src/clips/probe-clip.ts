import { type Ffmpeg, FfmpegError, type FfmpegInput } from './ffmpeg.ts';

/** Properties of a file that its conversion to MP4 needs. */
export interface ClipProbe {
  /** Name of ffmpeg's demuxer. */
  readonly format: string;
  readonly video: string;
  /** Number of frames; counted only for elementary streams. */
  readonly frames: number;
  /** Frames per second as declared by the stream; null if an elementary stream does not declare it. */
  readonly frameRate: number | null;
  readonly audio: { readonly codec: string; readonly sampleRate: number } | null;
}

/** Elementary streams: they have no container and so no timestamps. */
export const rawFormats: readonly string[] = ['h264', 'hevc'];

/**
 * The only formats that ffmpeg may detect in a camera's file. Other formats refer to further files and addresses (HLS,
 * concat, DASH, SDP), so that a clip could include files of this machine in its MP4.
 */
const formats = 'h264,hevc,mpegts,mpeg,flv,avi,mov,matroska';

/** A frame rate that no stream has. If ffmpeg prints it, the stream declares none. */
const placeholderRate = 77;

/** Creates the input for a camera's file: limited to the known formats and to local files. */
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

/** Probes a file. Returns null if it contains no video that ffmpeg can read. */
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

/**
 * Parses what ffmpeg prints about its first input: `Input #0, mpegts, from …` and `Stream #0:1[0x1c0]: Audio: pcm_alaw
 * …, 8000 Hz, mono`.
 */
function parseProbe(stderr: readonly string[]): ClipProbe | null {
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

/**
 * Returns the frames per second of an elementary stream: the declared rate, else the rate that fills the clip's
 * duration, else the usual 25.
 */
export function getRawFrameRate(probes: readonly ClipProbe[], clipMs: number): number {
  const declared = probes[0]?.frameRate ?? null;
  if (declared !== null) return declared;
  const measured = (probes.reduce((sum, { frames }) => sum + frames, 0) * 1000) / clipMs;
  return measured >= 5 && measured <= 60 ? Math.round(measured * 1000) / 1000 : 25;
}
