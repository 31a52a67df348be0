import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRecordings, type SimulatedTerminal, toCameraTime, type UploadFile } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { type ApiResponse, type ProductHarness, type TerminalSetup, uniquePhone } from './harness.ts';

/** A time range that a camera has recorded. */
export interface Clip {
  readonly channel: number;
  readonly startMs: number;
  readonly endMs: number;
}

/** The interface's `UploadedVideo`. */
interface UploadResponse {
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

// System errors are not instances of the Error class of the test realm.
const getErrorName = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'name' in error ? String(error.name) : '';

const recordingMs = 5_000;
const recordingsPerChannel = 12;
const channels = [1, 2];

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * A terminal whose two cameras have recorded the last minute in files of five seconds, and the Device API requests for
 * its uploads.
 */
export class UploadCamera {
  readonly terminal: SimulatedTerminal;
  readonly #harness: ProductHarness;
  readonly #untilMs: number;

  private constructor(harness: ProductHarness, terminal: SimulatedTerminal, untilMs: number) {
    this.#harness = harness;
    this.terminal = terminal;
    this.#untilMs = untilMs;
  }

  /** About 430 KB for each recording; `uploadBytesPerSecond` leaves time for events during the transfer. */
  static async start(harness: ProductHarness, setup: TerminalSetup = {}): Promise<UploadCamera> {
    const untilMs = Math.floor(Date.now() / 1000) * 1000 - 60_000;
    const plan = { channels, count: recordingsPerChannel, seconds: recordingMs / 1000, until: new Date(untilMs) };
    const recordings = createRecordings({ ...plan, bitrateKbps: 500 });
    const phone = setup.phone ?? uniquePhone();
    const terminal = await harness.startTerminal({
      recordings,
      uploadRetryMs: 300,
      uploadRetries: 100,
      ...setup,
      phone,
    });
    // The gateway publishes a connected terminal a moment after the terminal is logged in.
    const path = `/health/device?imei=${phone}`;
    await waitFor(async () => (await harness.get(path)).status === 200, `${phone} to be connected`);
    return new UploadCamera(harness, terminal, untilMs);
  }

  /** Returns `count` recordings from the `index`th on. */
  getClip(index: number, { channel = 1, count = 1 } = {}): Clip {
    const startMs = this.#untilMs - (recordingsPerChannel - index) * recordingMs;
    return { channel, startMs, endMs: startMs + count * recordingMs };
  }

  /** Returns the camera's files of a clip, in the order of the upload. */
  readFiles(clip: Clip): Promise<UploadFile[]> {
    const { channel, startMs, endMs } = clip;
    return this.terminal.clipFiles({ channel, startTime: toCameraTime(startMs), endTime: toCameraTime(endMs) });
  }

  /** GET /videos/upload. */
  requestClip(clip: Clip, more = '', imei = this.terminal.phone): Promise<ApiResponse> {
    return this.#harness.get(`/videos/upload?${this.buildQuery(clip, imei)}${more}`);
  }

  buildQuery({ channel, startMs, endMs }: Clip, imei = this.terminal.phone): string {
    const time = (ms: number): string => new Date(ms).toISOString();
    return `imei=${imei}&channel=${channel}&start_time=${time(startMs)}&end_time=${time(endMs)}`;
  }

  /** Requests a clip that has no upload yet and returns the `video_id`. */
  async upload(clip: Clip, more = ''): Promise<string> {
    const { status, body } = await this.requestClip(clip, more);
    if (status !== 200) throw new Error(`the upload request returned ${status}: ${JSON.stringify(body)}`);
    return (body as { video_id: string }).video_id;
  }

  /** GET /videos/control. */
  control(videoId: string, action: number): Promise<ApiResponse> {
    return this.#harness.get(`/videos/control?video_id=${videoId}&action=${action}`);
  }

  /** GET /videos. */
  async getUpload(videoId: string): Promise<UploadResponse> {
    const { status, body } = await this.#harness.get(`/videos?video_id=${videoId}`);
    if (status !== 200) throw new Error(`reading the upload returned ${status}: ${JSON.stringify(body)}`);
    return body as UploadResponse;
  }

  /** DELETE /videos. */
  deleteUpload(videoId: string): Promise<ApiResponse> {
    return this.#harness.get(`/videos?video_id=${videoId}`, { method: 'DELETE' });
  }

  /** GET /videos/list. */
  listUploads(more = ''): Promise<ApiResponse> {
    return this.#harness.get(`/videos/list?imei=${this.terminal.phone}${more}`);
  }

  /** Waits for a status; fails immediately in a final status from which it cannot be reached. */
  async waitForStatus(videoId: string, status: UploadResponse['status'], timeoutMs = 60_000): Promise<UploadResponse> {
    const isFinal = (upload: UploadResponse): boolean => ['completed', 'failed', 'cancelled'].includes(upload.status);
    const ended = await waitFor(
      async () => {
        const upload = await this.#tryGetUpload(videoId);
        return upload !== undefined && (upload.status === status || isFinal(upload)) ? upload : undefined;
      },
      `upload ${videoId} to be ${status}`,
      timeoutMs,
    );
    if (ended.status !== status) throw new Error(`the upload is ${ended.status} and not ${status}`);
    return ended;
  }

  /** Waits until at least `bytes` of an upload are stored. */
  async waitForBytes(videoId: string, bytes = 1): Promise<UploadResponse> {
    return waitFor(async () => {
      const upload = await this.#tryGetUpload(videoId);
      return upload !== undefined && upload.filesize >= bytes ? upload : undefined;
    }, `${bytes} bytes of upload ${videoId}`);
  }

  /** GET /videos/file. */
  download(videoId: string, headers: Record<string, string> = {}, format = 'original'): Promise<Response> {
    const { base_url } = this.#harness.product.runtime;
    return fetch(`${base_url}/api/v1/videos/file?video_id=${videoId}&format=${format}`, { headers });
  }

  /** Returns the directory of the upload; it may not exist. */
  directory(videoId: string): string {
    const key = this.terminal.phone.replace(/^0+/, '');
    return join(this.#harness.product.dataDir, 'clips', key, videoId);
  }

  /** Returns the stored files of an upload, as paths with their hashes. */
  async readStoredFiles(videoId: string): Promise<{ path: string; sha256: string }[]> {
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

  /** Undefined while the Device API or a service behind it is unavailable. */
  async #tryGetUpload(videoId: string): Promise<UploadResponse | undefined> {
    try {
      const { status, body } = await this.#harness.get(`/videos?video_id=${videoId}`);
      return status === 200 ? (body as UploadResponse) : undefined;
    } catch (error) {
      // A closed connection, or the error page of the proxy.
      if (['TypeError', 'SyntaxError'].includes(getErrorName(error))) return undefined;
      throw error;
    }
  }
}

const formatFiles = (files: readonly { path: string; sha256: string }[]): string =>
  files.map(({ path, sha256: hash }) => `${path} ${hash}`).join(', ');

/**
 * Returns what is wrong with a clip that should be complete: status, size, and stored files or a download that differ
 * from the camera's bytes.
 */
export async function findDefects(camera: UploadCamera, clip: Clip, videoId: string): Promise<string[]> {
  const files = await camera.readFiles(clip);
  const whole = Buffer.concat(files.map(({ content }) => content));
  const found: string[] = [];
  const compare = (what: string, actual: string | number, expected: string | number): void => {
    if (actual !== expected) found.push(`${what}: ${actual} instead of ${expected}`);
  };
  const { status, filesize } = await camera.getUpload(videoId);
  compare('status', status, 'completed');
  compare('filesize', filesize, whole.length);
  compare(
    'disk',
    formatFiles(await camera.readStoredFiles(videoId)),
    formatFiles(files.toSorted((a, b) => (a.path < b.path ? -1 : 1))),
  );
  const response = await camera.download(videoId);
  compare('status of the download', response.status, 200);
  compare('download', sha256(new Uint8Array(await response.arrayBuffer())), sha256(whole));
  return found;
}
