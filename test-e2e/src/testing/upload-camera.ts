import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cameraTimeOf, makeRecordings, type SimulatedTerminal, type UploadFile } from '@fleet/terminal-simulator';
import { until } from './until.ts';
import { type Answer, newPhone, type TerminalSetup, type World } from './world.ts';

/** A stretch of what a camera has recorded. */
export interface Clip {
  readonly channel: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** The interface's `UploadedVideo`. */
export interface ShownUpload {
  readonly video_id: string;
  readonly imei: string;
  readonly channel: number;
  readonly video_start_time: string;
  readonly video_end_time: string;
  readonly filesize: number;
  readonly status: 'uploading' | 'paused' | 'completed' | 'failed' | 'cancelled';
  readonly filename?: string;
}

export const uploadAction = { pause: 0, resume: 1, cancel: 2 } as const;

// Errors of the system are no instances of the Error that tests see.
const nameOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'name' in error ? String(error.name) : '';

const recordingMs = 5_000;
const recordingsOfChannel = 12;
const channels = [1, 2];

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** A terminal whose two cameras have recorded the last minute in files of five seconds, and the Device API about its uploads. */
export class UploadCamera {
  readonly terminal: SimulatedTerminal;
  readonly #world: World;
  readonly #untilMs: number;

  private constructor(world: World, terminal: SimulatedTerminal, untilMs: number) {
    this.#world = world;
    this.terminal = terminal;
    this.#untilMs = untilMs;
  }

  /** About 430 KB for each recording; `uploadBytesPerSecond` leaves time for something to happen on the way. */
  static async start(world: World, setup: TerminalSetup = {}): Promise<UploadCamera> {
    const untilMs = Math.floor(Date.now() / 1000) * 1000 - 60_000;
    const plan = { channels, count: recordingsOfChannel, seconds: recordingMs / 1000, until: new Date(untilMs) };
    const recordings = makeRecordings({ ...plan, bitrateKbps: 500 });
    const phone = setup.phone ?? newPhone();
    const terminal = await world.terminal({ recordings, uploadRetryMs: 300, uploadRetries: 100, ...setup, phone });
    // A gateway says a moment later than to the terminal who is there.
    const path = `/health/device?imei=${phone}`;
    await until(`${phone} to be known`, async () => (await world.get(path)).status === 200);
    return new UploadCamera(world, terminal, untilMs);
  }

  /** `count` recordings from the `index`th on. */
  clip(index: number, { channel = 1, count = 1 } = {}): Clip {
    const startMs = this.#untilMs - (recordingsOfChannel - index) * recordingMs;
    return { channel, startMs, endMs: startMs + count * recordingMs };
  }

  /** What the camera has of a clip, in the order in which it uploads. */
  files(clip: Clip): Promise<UploadFile[]> {
    const { channel, startMs, endMs } = clip;
    return this.terminal.clipFiles({ channel, startTime: cameraTimeOf(startMs), endTime: cameraTimeOf(endMs) });
  }

  /** GET /videos/upload. */
  request(clip: Clip, more = '', imei = this.terminal.phone): Promise<Answer> {
    return this.#world.get(`/videos/upload?${this.query(clip, imei)}${more}`);
  }

  query({ channel, startMs, endMs }: Clip, imei = this.terminal.phone): string {
    const time = (ms: number): string => new Date(ms).toISOString();
    return `imei=${imei}&channel=${channel}&start_time=${time(startMs)}&end_time=${time(endMs)}`;
  }

  /** Asks for a clip that has no upload yet, and gives the `video_id`. */
  async upload(clip: Clip, more = ''): Promise<string> {
    const { status, body } = await this.request(clip, more);
    if (status !== 200) throw new Error(`the upload is answered with ${status}: ${JSON.stringify(body)}`);
    return (body as { video_id: string }).video_id;
  }

  /** GET /videos/control. */
  control(videoId: string, action: number): Promise<Answer> {
    return this.#world.get(`/videos/control?video_id=${videoId}&action=${action}`);
  }

  /** GET /videos. */
  async show(videoId: string): Promise<ShownUpload> {
    const { status, body } = await this.#world.get(`/videos?video_id=${videoId}`);
    if (status !== 200) throw new Error(`the upload is shown with ${status}: ${JSON.stringify(body)}`);
    return body as ShownUpload;
  }

  /** DELETE /videos. */
  remove(videoId: string): Promise<Answer> {
    return this.#world.get(`/videos?video_id=${videoId}`, { method: 'DELETE' });
  }

  /** GET /videos/list. */
  list(more = ''): Promise<Answer> {
    return this.#world.get(`/videos/list?imei=${this.terminal.phone}${more}`);
  }

  /** Waits for a status; one from which that can not come any more fails at once. */
  async becomes(videoId: string, status: ShownUpload['status'], timeoutMs = 60_000): Promise<ShownUpload> {
    const isOver = (shown: ShownUpload): boolean => ['completed', 'failed', 'cancelled'].includes(shown.status);
    const end = await until(
      `upload ${videoId} to be ${status}`,
      async () => {
        const shown = await this.#patientShow(videoId);
        return shown !== undefined && (shown.status === status || isOver(shown)) ? shown : undefined;
      },
      timeoutMs,
    );
    if (end.status !== status) throw new Error(`the upload is ${end.status} and not ${status}`);
    return end;
  }

  /** Waits until so many bytes of an upload have come. */
  async received(videoId: string, bytes = 1): Promise<ShownUpload> {
    return until(`${bytes} bytes of upload ${videoId}`, async () => {
      const shown = await this.#patientShow(videoId);
      return shown !== undefined && shown.filesize >= bytes ? shown : undefined;
    });
  }

  /** GET /videos/file. */
  download(videoId: string, headers: Record<string, string> = {}, format = 'original'): Promise<Response> {
    const { base_url } = this.#world.product.runtime;
    return fetch(`${base_url}/api/v1/videos/file?video_id=${videoId}&format=${format}`, { headers });
  }

  /** The upload's own directory; it may not be there. */
  directory(videoId: string): string {
    const key = this.terminal.phone.replace(/^0+/, '');
    return join(this.#world.product.dataDir, 'clips', key, videoId);
  }

  /** What lies on the disk of an upload, as paths with their hashes. */
  async stored(videoId: string): Promise<{ path: string; sha256: string }[]> {
    const root = join(this.directory(videoId), 'files');
    if (!existsSync(root)) return [];
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
    const files = paths.map(async (path) => ({
      path: path.slice(root.length + 1),
      sha256: sha256(await readFile(path)),
    }));
    return (await Promise.all(files)).toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** Undefined while the Device API or what stands behind it is away. */
  async #patientShow(videoId: string): Promise<ShownUpload | undefined> {
    try {
      const { status, body } = await this.#world.get(`/videos?video_id=${videoId}`);
      return status === 200 ? (body as ShownUpload) : undefined;
    } catch (error) {
      // A connection that was cut, or the page that the proxy says it with.
      if (['TypeError', 'SyntaxError'].includes(nameOf(error))) return undefined;
      throw error;
    }
  }
}

const named = (files: readonly { path: string; sha256: string }[]): string =>
  files.map(({ path, sha256: hash }) => `${path} ${hash}`).join(', ');

/** What is wrong with a clip that is to be completed: status, size, the files on the disk or the download are not byte for byte the camera's. */
export async function defects(camera: UploadCamera, clip: Clip, videoId: string): Promise<string[]> {
  const files = await camera.files(clip);
  const whole = Buffer.concat(files.map(({ content }) => content));
  const found: string[] = [];
  const compare = (what: string, actual: string | number, expected: string | number): void => {
    if (actual !== expected) found.push(`${what}: ${actual} instead of ${expected}`);
  };
  const { status, filesize } = await camera.show(videoId);
  compare('status', status, 'completed');
  compare('filesize', filesize, whole.length);
  compare('disk', named(await camera.stored(videoId)), named(files.toSorted((a, b) => (a.path < b.path ? -1 : 1))));
  const response = await camera.download(videoId);
  compare('status of the download', response.status, 200);
  compare('download', sha256(new Uint8Array(await response.arrayBuffer())), sha256(whole));
  return found;
}
