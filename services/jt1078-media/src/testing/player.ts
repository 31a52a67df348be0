import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { type DemuxedTag, FlvDemuxer } from '@fleet/jt1078/testing';
import { testEnv } from '@fleet/testing';

/** HTTP viewer that collects the tags and records how the response ends. */
export class Player {
  readonly tags: DemuxedTag[] = [];
  readonly chunks: Buffer[] = [];
  readonly arrivals: number[] = [];
  readonly response: IncomingMessage;
  /** `complete`: with the last chunk; `broken`: without. */
  ending: 'complete' | 'broken' | null = null;
  readonly #demuxer = new FlvDemuxer((tag) => {
    this.tags.push({ ...tag, body: Buffer.from(tag.body) });
    this.arrivals.push(performance.now());
  });

  private constructor(response: IncomingMessage) {
    this.response = response;
    response.on('data', (chunk: Buffer) => {
      this.chunks.push(chunk);
      this.#demuxer.push(chunk);
    });
    response.on('error', () => undefined);
    response.on('close', () => {
      this.ending = response.complete ? 'complete' : 'broken';
    });
  }

  /** Resolves with the response head. Throws the body of a status other than 200. */
  static async open(url: string): Promise<Player> {
    const response = await request(url);
    if (response.statusCode !== 200) throw new Error(await readBody(response));
    return new Player(response);
  }

  get header() {
    return this.#demuxer.header;
  }

  get flv(): Buffer {
    return Buffer.concat(this.chunks);
  }

  /** Video tags without sequence headers. */
  get video(): DemuxedTag[] {
    return this.tags.filter((tag) => tag.type === 9 && !isVideoHeader(tag));
  }

  get videoHeaders(): DemuxedTag[] {
    return this.tags.filter((tag) => tag.type === 9 && isVideoHeader(tag));
  }

  get audio(): DemuxedTag[] {
    return this.tags.filter((tag) => tag.type === 8);
  }

  close(): void {
    this.response.destroy();
  }
}

/** Returns true for an AVC sequence header or an enhanced one. */
const isVideoHeader = ({ body }: DemuxedTag): boolean =>
  ((body[0] ?? 0) & 0x80) !== 0 ? ((body[0] ?? 0) & 0x0f) === 0 : body[1] === 0;

export const isKeyFrame = ({ body }: DemuxedTag): boolean => (((body[0] ?? 0) >> 4) & 7) === 1;

async function request(url: string): Promise<IncomingMessage> {
  const [response] = (await once(get(url, { agent: false }), 'response')) as [IncomingMessage];
  return response;
}

async function readBody(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part as Buffer);
  return Buffer.concat(parts).toString();
}

/** Returns status and JSON body of a request that is not expected to stream. */
export async function fetchStatus(url: string): Promise<{ status: number; body: unknown }> {
  const response = await request(url);
  if (response.statusCode === 200) {
    response.destroy();
    return { status: 200, body: null };
  }
  return { status: response.statusCode ?? 0, body: JSON.parse(await readBody(response)) as unknown };
}

/** One stream as reported by ffprobe. */
interface ProbedStream {
  codec_type: string;
  codec_name: string;
  codec_tag_string: string;
  width?: number;
  height?: number;
  sample_rate?: string;
  channels?: number;
  nb_read_frames: string;
}

/** Reads and counts the streams of an FLV with ffprobe. */
export async function probeStreams(flv: Buffer, format = 'flv'): Promise<ProbedStream[]> {
  const ffprobe = testEnv('FFMPEG_PATH').replace(/ffmpeg$/, 'ffprobe');
  const args = ['-v', 'error', '-f', format, '-show_streams', '-count_frames', '-of', 'json', 'pipe:0'];
  const { stdout } = await runWith(ffprobe, args, flv);
  return (JSON.parse(stdout) as { streams: ProbedStream[] }).streams;
}

/** Decodes with ffmpeg and returns its errors, or an empty string. */
export async function decodeErrors(flv: Buffer, format = 'flv'): Promise<string> {
  const args = [
    '-v',
    'error',
    '-xerror',
    '-f',
    format,
    '-i',
    'pipe:0',
    '-fps_mode',
    'passthrough',
    '-enc_time_base',
    '1:1000',
    '-f',
    'null',
    '-',
  ];
  return (await runWith(testEnv('FFMPEG_PATH'), args, flv)).stderr;
}

async function runWith(command: string, args: string[], input: Buffer): Promise<{ stdout: string; stderr: string }> {
  const child = spawn(command, args);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  await once(child, 'close');
  return { stdout, stderr };
}

/** Counts the ffmpeg processes whose parent is this process. */
export async function countFfmpegChildren(): Promise<number> {
  return new Promise((resolve) => {
    execFile('ps', ['--ppid', String(process.pid), '-o', 'comm='], (_error, stdout) => {
      resolve(stdout.split('\n').filter((name) => name.trim() === 'ffmpeg').length);
    });
  });
}
