import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { testEnv } from '@fleet/testing';

const run = promisify(execFile);

/** Two seconds of a test picture at 15 frames per second, in the formats in which cameras store video. */
const recipes = {
  'h264-pcma.avi': ['-c:v', 'libx264', '-bf', '0', '-c:a', 'pcm_alaw'],
  'h264-pcmu.flv': ['-c:v', 'libx264', '-bf', '0', '-c:a', 'pcm_mulaw'],
  'h264-pcma.mov': ['-c:v', 'libx264', '-c:a', 'pcm_alaw'],
  'h264-g726.mkv': ['-c:v', 'libx264', '-bf', '0', '-c:a', 'g726'],
  'h264-adpcm.avi': ['-c:v', 'libx264', '-bf', '0', '-c:a', 'adpcm_ima_wav'],
  'h264-aac.mp4': ['-c:v', 'libx264', '-c:a', 'aac', '-b:a', '32k'],
  'h264-aac.ts': ['-c:v', 'libx264', '-c:a', 'aac', '-b:a', '32k'],
  'h264-mp2.ps': ['-c:v', 'libx264', '-bf', '0', '-c:a', 'mp2', '-ar', '16000', '-f', 'vob'],
  'h264-silent.mp4': ['-an', '-c:v', 'libx264'],
  'h264-raw.h264': ['-an', '-c:v', 'libx264', '-bf', '0'],
  'h265-raw.h265': ['-an', '-c:v', 'libx265', '-x265-params', 'log-level=none:bframes=0'],
  'h265-pcma.mkv': ['-c:v', 'libx265', '-x265-params', 'log-level=none', '-c:a', 'pcm_alaw'],
  'vp8.mkv': ['-an', '-c:v', 'libvpx', '-b:v', '100k'],
  'sound-only.mp4': ['-vn', '-c:a', 'aac', '-b:a', '32k'],
  'picture.jpg': ['-an', '-frames:v', '1', '-update', '1'],
} as const satisfies Record<string, readonly string[]>;

export type SampleName = keyof typeof recipes;

/** Creates a sample file in a folder and returns its path. */
export async function createSample(folder: string, name: SampleName): Promise<string> {
  const path = join(folder, name);
  const inputs = ['-f', 'lavfi', '-i', 'testsrc=s=176x144:r=15:d=2', '-f', 'lavfi', '-i', 'sine=f=440:r=8000:d=2'];
  await runFfmpeg([...inputs, '-pix_fmt', 'yuv420p', '-g', '15', '-ac', '1', ...recipes[name], path]);
  return path;
}

async function runFfmpeg(args: readonly string[]): Promise<string> {
  return (await run(testEnv('FFMPEG_PATH'), ['-v', 'error', '-nostdin', '-y', ...args])).stderr;
}

/** The decoded content of a file: frames and their hash, and the durations of video and sound. */
interface DecodedFile {
  readonly pictures: number;
  readonly pictureHash: string;
  readonly videoSeconds: number;
  readonly soundSeconds: number;
}

export async function decodeFile(path: string): Promise<DecodedFile> {
  const args = '-map 0:v? -map 0:a? -fps_mode passthrough -ar 16000 -f framemd5 -'.split(' ');
  const { stdout } = await run(testEnv('FFMPEG_PATH'), ['-v', 'error', '-nostdin', '-i', path, ...args]);
  const lines = stdout.split('\n').filter((line) => /^\d/.test(line));
  const bases = [...stdout.matchAll(/#tb (\d+): (\d+)\/(\d+)/g)].map((base) => Number(base[2]) / Number(base[3]));
  const kinds = [...stdout.matchAll(/#media_type \d+: (\w+)/g)].map((kind) => kind[1]);
  const rows = lines.map((line) => line.split(',').map((cell) => cell.trim()));
  const rowsOf = (kind: string): string[][] => rows.filter((row) => kinds[Number(row[0])] === kind);
  const endOf = (kind: string): number => {
    const last = rowsOf(kind).at(-1);
    const base = bases[kinds.indexOf(kind)] ?? 0;
    return last === undefined ? 0 : (Number(last[2]) + Number(last[3])) * base;
  };
  return {
    pictures: rowsOf('video').length,
    pictureHash: rowsOf('video')
      .map((row) => row[5])
      .join(' '),
    videoSeconds: endOf('video'),
    soundSeconds: endOf('audio'),
  };
}

/** Returns whether the index of an MP4 precedes its data, so that players can start immediately. */
export async function isFastStart(path: string): Promise<boolean> {
  const bytes = await readFile(path);
  return bytes.indexOf('moov') !== -1 && bytes.indexOf('moov') < bytes.indexOf('mdat');
}

/** Returns the codecs of a file's streams, as ffmpeg names them. */
export async function readCodecs(path: string): Promise<string[]> {
  const args = ['-hide_banner', '-nostdin', '-i', path, '-t', '0', '-c', 'copy', '-f', 'null', '-'];
  const { stderr } = await run(testEnv('FFMPEG_PATH'), args);
  return [...(stderr.split('Output #0')[0] ?? '').matchAll(/Stream #0:\d+.*?: (?:Video|Audio): (\w+)/g)].map(
    (codec) => codec[1] ?? '',
  );
}
