import { clipFrameHashes, type Recording, type SimulatedTerminal, type StreamRecord } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { expect } from '@jest/globals';
import { decodePictureHashes } from './decode.ts';
import { type ApiResponse, type ProductHarness, type TerminalSetup, uniquePhone } from './harness.ts';
import { Viewer } from './viewer.ts';

/** One recording of a terminal; times are on the camera's clock. */
export const createRecording = (startTime: string, endTime: string, more: Partial<Recording> = {}): Recording => ({
  channel: 1,
  startTime,
  endTime,
  alarmFlags: 0n,
  mediaType: 0,
  streamType: 1,
  storageType: 1,
  fileSizeBytes: 1_000_000,
  ...more,
});

/** Editions with the lengths of their terminal numbers. */
export const editions = [
  ['2011', 12],
  ['2013', 12],
  ['2019', 20],
] as const;

/**
 * Returns the time on the camera's clock (UTC+08:00) `seconds` after the beginning of the recording that `Playback`
 * plays.
 */
const formatClock = (seconds: number): string =>
  new Date(Date.UTC(2026, 7, 1, 10) + seconds * 1000).toISOString().slice(0, 19);

/** Returns the same time as a query parameter. */
export const formatTimeParameter = (seconds: number): string => `${formatClock(seconds)}%2B08:00`;

/** A terminal with a recording, and its playback through the product's ports. */
export class Playback {
  readonly harness: ProductHarness;
  readonly terminal: SimulatedTerminal;
  readonly seconds: number;

  private constructor(harness: ProductHarness, terminal: SimulatedTerminal, seconds: number) {
    this.harness = harness;
    this.terminal = terminal;
    this.seconds = seconds;
  }

  /** One key frame and 15 pictures per second. */
  static async create(
    harness: ProductHarness,
    seconds: number,
    { digits = 12, ...setup }: TerminalSetup & { digits?: 12 | 20 } = {},
  ): Promise<Playback> {
    const terminal = await harness.startTerminal({
      phone: uniquePhone(digits),
      recordings: [createRecording(formatClock(0), formatClock(seconds))],
      logLimit: 100_000,
      ...setup,
      video: { fps: 15, gop: 15, width: 320, height: 240, ...setup.video },
    });
    return new Playback(harness, terminal, seconds);
  }

  get #query(): string {
    return `imei=${this.terminal.phone}&channel=1`;
  }

  start(more = ''): Promise<ApiResponse> {
    const span = `start_time=${formatTimeParameter(0)}&end_time=${formatTimeParameter(this.seconds)}`;
    const what = `${this.#query}&${span}&resource_type=0&stream_type=1&memory_type=1${more}`;
    return this.harness.get(`/history/start-stream?${what}`);
  }

  control(playbackControl: number, more = ''): Promise<ApiResponse> {
    return this.harness.get(`/history/control-stream?${this.#query}&playback_control=${playbackControl}${more}`);
  }

  watch(more = '&audio=none'): Viewer {
    return new Viewer(`${this.harness.product.runtime.base_url}/api/v1/history/stream.flv?${this.#query}${more}`);
  }

  /** Returns the status of `stream.flv` without playing it. */
  async fetchFlvStatus(): Promise<number> {
    return (await this.harness.get(`/history/stream.flv?${this.#query}`, { method: 'HEAD' })).status;
  }

  /** Latest playback of the camera. */
  get stream(): StreamRecord {
    const record = this.terminal.cameras.records.findLast(({ kind }) => kind === 'history');
    if (record === undefined) throw new Error('the camera plays nothing');
    return record;
  }

  /** Position in the recording of the picture that the camera sent last, in seconds after its beginning. */
  get position(): number {
    return ((this.stream.sentVideoFrames.at(-1)?.timestampMs ?? 0) - Date.UTC(2026, 7, 1, 2)) / 1000;
  }

  async expectEnd(viewer: Viewer, timeoutMs = 60_000): Promise<void> {
    await waitFor(() => viewer.ended !== undefined, 'the end of the response', timeoutMs);
    expect(viewer.ended).toBe('clean');
    expect((await this.harness.get(`/history/stream.flv?${this.#query}`)).status).toBe(404);
  }

  /** Asserts that each picture sent by the camera reached the viewer in order and decodes to the original. */
  async expectAllPictures(viewer: Viewer): Promise<void> {
    const clip = await this.terminal.options.clips?.(1, 'main');
    if (clip === undefined) throw new Error('the terminal has no camera');
    const hashes = await clipFrameHashes(clip);
    expect(await decodePictureHashes(viewer.bytes)).toEqual(
      this.stream.sentVideoFrames.map(({ clipIndex }) => hashes[clipIndex]),
    );
  }
}

/** Returns the time differences between the pictures of a viewer, from the given one on. */
export const getSteps = ({ pictures }: Viewer, from = 0): number[] =>
  pictures.slice(from + 1).map((tag, index) => tag.timestampMs - (pictures[from + index]?.timestampMs ?? 0));

/** Asserts that the viewer's clock always advances, and by at most this step. */
export function expectSmooth(viewer: Viewer, maxStepMs: number): void {
  const steps = getSteps(viewer);
  expect(Math.min(...steps)).toBeGreaterThan(0);
  expect(Math.max(...steps)).toBeLessThanOrEqual(maxStepMs);
}
