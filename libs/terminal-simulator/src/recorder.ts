import { toCameraTime } from './camera-clock.ts';
import { createRecording, type Recording, type RecordingFormat } from './recordings.ts';

/** Options of continuous recording, in files of equal length, on a disk of limited size. */
export interface RecorderOptions extends RecordingFormat {
  /** Files of each camera on the disk at the start. */
  count: number;
  /** Time that a file stays on the disk. */
  retentionMs: number;
  startedAt: Date;
}

/** Maintains the recordings of cameras that record continuously: a ring, as on the disk of a real terminal. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #fileMs: number;
  #index = 0;
  #nextMs: number;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#fileMs = options.seconds * 1000;
    this.#nextMs = Math.floor(options.startedAt.getTime() / 1000) * 1000 - options.count * this.#fileMs;
  }

  /** Appends the files that are complete at `nowMs`, and removes those older than the retention. */
  update(recordings: Recording[], nowMs: number): void {
    for (; this.#nextMs + this.#fileMs <= nowMs; this.#nextMs += this.#fileMs) {
      for (const channel of this.#options.channels)
        recordings.push(createRecording(this.#options, channel, this.#index, this.#nextMs));
      this.#index += 1;
    }
    const oldest = toCameraTime(nowMs - this.#options.retentionMs, this.#options.zoneMinutes);
    const firstRetained = recordings.findIndex(({ endTime }) => endTime > oldest);
    recordings.splice(0, firstRetained < 0 ? recordings.length : firstRetained);
  }
}
