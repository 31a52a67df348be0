import { clipFrameHashes, type Recording, type SimulatedTerminal, type StreamRecord } from '@fleet/terminal-simulator';
import { expect } from '@jest/globals';
import { decodePictureHashes } from './decode.ts';
import { type ApiResponse, type ProductHarness, type TerminalSetup, uniquePhone } from './harness.ts';
import { Viewer } from './viewer.ts';
import { waitFor } from './wait-for.ts';

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

/** Editions with the forms of numbers that they use. */
export const editions = [
  ['2011', 12],
  ['2013', 12],
  ['2019', 20],
] as const;

/** Camera clock (UTC+08:00) at so many seconds after the beginning of the recording that `Playback` plays. */
const formatClock = (seconds: number): string =>
  new Date(Date.UTC(2026, 7, 1, 10) + seconds * 1000).toISOString().slice(0, 19);

/** The same as a query parameter. */
export const formatTimeParameter = (seconds: number): string => `${formatClock(seconds)}%2B08:00`;

/** A terminal with a recording, and who plays it through the product's doors. */
export class Playback {
  readonly harness: ProductHarness;
  readonly terminal: SimulatedTerminal;
  readonly seconds: number;

  private constructor(harness: ProductHarness, terminal: SimulatedTerminal, seconds: number) {
    this.harness = harness;
    this.terminal = terminal;
    this.seconds = seconds;
  }

  /** A key frame each second, 15 pictures in it. */
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

  /** Status of `stream.flv` without playing it. */
  async fetchFlvStatus(): Promise<number> {
    return (await this.harness.get(`/history/stream.flv?${this.#query}`, { method: 'HEAD' })).status;
  }

  /** The camera's latest playback. */
  get stream(): StreamRecord {
    const record = this.terminal.cameras.records.findLast(({ kind }) => kind === 'history');
    if (record === undefined) throw new Error('the camera plays nothing');
    return record;
  }

  /** What is recorded at the picture that the camera has sent last, in seconds after the recording's beginning. */
  get position(): number {
    return ((this.stream.sentVideoFrames.at(-1)?.timestampMs ?? 0) - Date.UTC(2026, 7, 1, 2)) / 1000;
  }

  async expectEnd(viewer: Viewer, timeoutMs = 60_000): Promise<void> {
    await waitFor('the end of the response', () => viewer.ended !== undefined, timeoutMs);
    expect(viewer.ended).toBe('clean');
    expect((await this.harness.get(`/history/stream.flv?${this.#query}`)).status).toBe(404);
  }

  /** Each picture that the camera has sent reached the viewer and decodes to what the camera saw, in the order of sending. */
  async expectAllPictures(viewer: Viewer): Promise<void> {
    const clip = await this.terminal.options.clips?.(1, 'main');
    if (clip === undefined) throw new Error('the terminal has no camera');
    const hashes = await clipFrameHashes(clip);
    expect(await decodePictureHashes(viewer.bytes)).toEqual(
      this.stream.sentVideoFrames.map(({ clipIndex }) => hashes[clipIndex]),
    );
  }
}

/** Times between the pictures of a viewer, from one of them on. */
export const getSteps = ({ pictures }: Viewer, from = 0): number[] =>
  pictures.slice(from + 1).map((tag, index) => tag.timestampMs - (pictures[from + index]?.timestampMs ?? 0));

/** A viewer's clock never stands or goes back, and no picture stands for longer than this. */
export function expectSmooth(viewer: Viewer, maxStepMs: number): void {
  const steps = getSteps(viewer);
  expect(Math.min(...steps)).toBeGreaterThan(0);
  expect(Math.max(...steps)).toBeLessThanOrEqual(maxStepMs);
}
