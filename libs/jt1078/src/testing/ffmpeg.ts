import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

function findExecutable(name: string): string {
  const given = process.env.FFMPEG_PATH;
  const folders = [...(given ? [dirname(given)] : []), ...(process.env.PATH ?? '').split(delimiter)];
  if (name === 'ffmpeg' && given && existsSync(given)) return given;
  const found = folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
  // Fails instead of skipping, as without a decoder these tests would prove nothing.
  if (!found) throw new Error(`${name} is required by this test: add it to the PATH or set FFMPEG_PATH`);
  return found;
}

function runTool(name: string, args: string[], input: Buffer): Buffer {
  const done = spawnSync(findExecutable(name), args, { input, maxBuffer: 512 * 1024 * 1024 });
  const errors = done.stderr.toString().trim();
  if (done.error) throw done.error;
  if (done.status !== 0 || errors !== '') throw new Error(`${name} ${args.join(' ')}\n${errors}`);
  return done.stdout;
}

/** Runs ffmpeg on `input`. Throws when it reports errors. */
export const ffmpeg = (args: string[], input: Buffer = Buffer.alloc(0)): Buffer =>
  runTool('ffmpeg', ['-v', 'error', ...args], input);

interface Probe {
  codec: string;
  width: number;
  height: number;
  profile: string;
  level: number;
  frames: number;
  ptsMs: number[];
}

interface ProbeJson {
  streams: {
    codec_name: string;
    width: number;
    height: number;
    profile: string;
    level: number;
    nb_read_frames: string;
  }[];
  packets?: { pts_time?: string }[];
}

/** Reads the video of a format, such as `flv` or `hevc`, with ffprobe. */
export function probeVideo(data: Buffer, format: string): Probe {
  const args = ['-v', 'error', '-f', format, '-select_streams', 'v', '-count_frames', '-show_packets', '-show_streams'];
  const json = JSON.parse(runTool('ffprobe', [...args, '-of', 'json', '-i', 'pipe:0'], data).toString()) as ProbeJson;
  const [stream] = json.streams;
  if (!stream) throw new Error('ffprobe found no video');
  return {
    codec: stream.codec_name,
    width: stream.width,
    height: stream.height,
    profile: stream.profile,
    level: stream.level,
    frames: Number(stream.nb_read_frames),
    ptsMs: (json.packets ?? []).map((packet) => Math.round(Number(packet.pts_time) * 1000)),
  };
}

/** Decodes to one hash per picture. */
export const frameHashes = (data: Buffer, format: string): string[] =>
  ffmpeg(['-f', format, '-i', 'pipe:0', '-an', '-fps_mode', 'passthrough', '-f', 'framemd5', 'pipe:1'], data)
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(',').at(-1)?.trim() ?? '');

const annexBFormat = (codec: 'libx264' | 'libx265'): string => (codec === 'libx264' ? 'h264' : 'hevc');

const encodedStreams = new Map<string, Buffer>();

/** Caches encoded streams within a test file, as encoding is slow. */
function encodeOnce(
  format: string,
  codec: 'libx264' | 'libx265',
  options: string[],
  frames: number,
  size: string,
): Buffer {
  const quiet = codec === 'libx265' && !options.includes('-x265-params') ? ['-x265-params', 'log-level=error'] : [];
  const source = `testsrc=size=${size}:rate=25`;
  const coding = [
    '-frames:v',
    String(frames),
    '-pix_fmt',
    'yuv420p',
    '-c:v',
    codec,
    '-preset',
    'superfast',
    '-g',
    '10',
    ...quiet,
    ...options,
  ];
  const args = ['-f', 'lavfi', '-i', source, ...coding, '-f', format, 'pipe:1'];
  const key = args.join(' ');
  const known = encodedStreams.get(key);
  if (known) return known;
  const made = ffmpeg(args);
  encodedStreams.set(key, made);
  return made;
}

/** Encodes a moving test picture as an Annex B stream. */
export const encodeVideo = (
  codec: 'libx264' | 'libx265',
  options: string[] = [],
  frames = 30,
  size = '176x144',
): Buffer => encodeOnce(annexBFormat(codec), codec, options, frames, size);

/** Encodes like `encodeVideo` and returns the presentation time of each frame in coded order. */
export function encodeTimedVideo(codec: 'libx264' | 'libx265', options: string[]): { stream: Buffer; ptsMs: number[] } {
  const muxed = encodeOnce('matroska', codec, options, 30, '176x144');
  const filter = codec === 'libx264' ? 'h264_mp4toannexb' : 'hevc_mp4toannexb';
  const format = annexBFormat(codec);
  const stream = ffmpeg(
    ['-f', 'matroska', '-i', 'pipe:0', '-c', 'copy', '-bsf:v', filter, '-f', format, 'pipe:1'],
    muxed,
  );
  return { stream, ptsMs: probeVideo(muxed, 'matroska').ptsMs };
}

/** Encodes a tone; `args` select codec and format. */
export const encodeAudio = (args: string[], seconds = 1, rate = 8000): Buffer =>
  ffmpeg([
    '-f',
    'lavfi',
    '-i',
    `sine=frequency=440:sample_rate=${rate}:duration=${seconds}`,
    '-ac',
    '1',
    ...args,
    'pipe:1',
  ]);
