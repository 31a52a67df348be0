import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { Clip } from './clip.ts';
import type { AudioCodec } from './clip-spec.ts';
import { getFfmpegPath, runFfmpeg } from './ffmpeg.ts';

/**
 * ffmpeg input arguments of a clip's audio. For ADPCM they describe the raw samples, since ffmpeg cannot read ADPCM
 * with its headers.
 */
const audioInputArguments: Partial<Record<AudioCodec, readonly string[]>> = {
  g711a: ['-f', 'alaw', '-ar', '8000', '-ac', '1'],
  g711u: ['-f', 'mulaw', '-ar', '8000', '-ac', '1'],
  g726: ['-f', 'g726le', '-code_size', '4', '-ar', '8000', '-ac', '1'],
  adpcm: ['-f', 's16le', '-ar', '8000', '-ac', '1'],
  aac: ['-f', 'aac'],
  'aac-raw': ['-f', 'aac'],
};

/** Smallest MP4 box: length and type. */
const boxHeaderBytes = 8;

/** Pads a file with a `free` box, which players skip, to the size stated in 0x1205. */
export function padMp4(content: Buffer, sizeBytes: number): Buffer {
  const paddingBytes = sizeBytes - content.length;
  if (paddingBytes < boxHeaderBytes) return content;
  const box = Buffer.alloc(paddingBytes);
  box.writeUInt32BE(paddingBytes, 0);
  box.write('free', 4, 'latin1');
  return Buffer.concat([content, box]);
}

/** Writes a file's bytes repeatedly: ffmpeg cannot loop raw streams. */
async function writeRepeated(source: string, target: string, times: number): Promise<string> {
  const content = await readFile(source);
  const file = await open(target, 'w');
  try {
    for (let count = 0; count < times; count += 1) await file.write(content);
  } finally {
    await file.close();
  }
  return target;
}

/** Options of a recording beside its clip. */
interface RecordingFileOptions {
  ffmpegPath?: string;
  hasVideo?: boolean;
  hasAudio?: boolean;
}

/**
 * Creates an MP4 that repeats a clip for a given time: the file that a camera uploads as a recording. The same ffmpeg
 * always creates the same bytes.
 */
export async function createRecordingFile(
  clip: Clip,
  seconds: number,
  sizeBytes: number,
  options: RecordingFileOptions = {},
): Promise<Buffer> {
  const { codec, fps, audio } = clip.spec;
  const { hasVideo = true, hasAudio = true } = options;
  const repetitions = Math.ceil(seconds / clip.spec.seconds);
  const soundInput = audioInputArguments[audio];
  const directory = await mkdtemp(path.join(os.tmpdir(), 'recording-'));
  try {
    const picture = await writeRepeated(clip.videoFile, path.join(directory, 'video'), repetitions);
    const format = codec === 'h264' ? 'h264' : 'hevc';
    const video = hasVideo ? ['-framerate', String(fps), '-f', format, '-i', picture] : [];
    const sound =
      clip.audioFile === null || soundInput === undefined || !hasAudio
        ? []
        : [...soundInput, '-i', await writeRepeated(clip.audioFile, path.join(directory, 'audio'), repetitions)];
    const coding = ['-c:v', 'copy', '-c:a', 'aac', '-b:a', '24k', '-t', String(seconds), '-movflags', '+faststart'];
    const bitexactArguments = ['-fflags', '+bitexact', '-flags:v', '+bitexact', '-flags:a', '+bitexact'];
    const file = path.join(directory, 'recording.mp4');
    await runFfmpeg(getFfmpegPath(options.ffmpegPath), [
      ...video,
      ...sound,
      ...coding,
      ...bitexactArguments,
      '-f',
      'mp4',
      file,
    ]);
    return padMp4(await readFile(file), sizeBytes);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
