import { setTimeout as delay } from 'node:timers/promises';

const pollIntervalMs = 300;

/** Reads a live HLS playlist and each of its segments, as players do. */
export class HlsReader {
  /** Numbers of the segments that were loaded, in order. */
  readonly sequences: number[] = [];
  /** What a player would not survive: an end, a number that falls, a file that is missing. */
  readonly faults: string[] = [];
  /** Discontinuity sequence number of the newest segment. */
  discontinuity = -1;
  readonly #url: string;
  readonly #init: RequestInit;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(url: string, headers: Record<string, string>) {
    this.#url = url;
    this.#init = { headers };
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Players repeat a playlist that failed, but do not survive a missing segment.
      const response = await fetch(this.#url, this.#init);
      const text = await response.text();
      if (response.status === 200) await this.#readSegments(text);
      await delay(pollIntervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async #readSegments(playlist: string): Promise<void> {
    if (playlist.includes('#EXT-X-ENDLIST')) this.faults.push('the playlist has ended');
    let discontinuity = Number(/DISCONTINUITY-SEQUENCE:(\d+)/.exec(playlist)?.[1]);
    const newest = this.sequences.at(-1) ?? -1;
    if (Number(/MEDIA-SEQUENCE:(\d+)/.exec(playlist)?.[1]) < (this.sequences[0] ?? -1))
      this.faults.push('numbers fall');
    for (const line of playlist.split('\n')) {
      if (line === '#EXT-X-DISCONTINUITY') discontinuity += 1;
      const sequence = Number(/^hls\/segment-(\d+)/.exec(line)?.[1] ?? Number.NaN);
      if (Number.isNaN(sequence) || sequence <= newest) continue;
      const { status } = await fetch(new URL(line, this.#url), this.#init);
      if (status !== 200) this.faults.push(`segment ${sequence}: ${status}`);
      if (discontinuity < this.discontinuity) this.faults.push('discontinuity numbers fall');
      this.discontinuity = discontinuity;
      this.sequences.push(sequence);
    }
  }
}
