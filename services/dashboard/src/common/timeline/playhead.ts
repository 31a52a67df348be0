import { useEffect, useState, useSyncExternalStore } from 'react';
import { clampTime, type TimeSpan } from './time-scale.ts';

/** Speeds of the replay. */
export const rates = [1, 2, 4, 8, 16] as const;
export type Rate = (typeof rates)[number];

/**
 * What moves the playhead: its own clock while only the track plays, or the clock of a clip or of a recording on the
 * camera.
 */
type PlayheadSource = 'track' | 'video';

interface PlayheadState {
  readonly timeMs: number;
  readonly isPlaying: boolean;
  readonly rate: Rate;
  readonly source: PlayheadSource;
  /** Changes with each seek, so that videos follow. */
  readonly seeks: number;
}

/** Holds the one time of a replay: map, video, chart and lists follow it. */
export class Playhead {
  #span: TimeSpan;
  #state: PlayheadState;
  readonly #listeners = new Set<() => void>();

  constructor(span: TimeSpan, timeMs: number) {
    this.#span = span;
    this.#state = { timeMs: clampTime(timeMs, span), isPlaying: false, rate: 1, source: 'track', seeks: 0 };
  }

  get state(): PlayheadState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  play(): void {
    if (this.#state.timeMs < this.#span.toMs) this.#set({ isPlaying: true });
  }

  pause(): void {
    this.#set({ isPlaying: false });
  }

  setRate(rate: Rate): void {
    this.#set({ rate });
  }

  setSource(source: PlayheadSource): void {
    this.#set({ source });
  }

  /** Moves to a time, which the user chose. */
  seek(timeMs: number): void {
    this.#set({ timeMs: clampTime(timeMs, this.#span), seeks: this.#state.seeks + 1 });
  }

  /** Follows the clock of the video. */
  follow(timeMs: number): void {
    if (this.#state.source === 'video') this.#set({ timeMs: clampTime(timeMs, this.#span) });
  }

  /** Advances the own clock by elapsed time; pauses at the end of the day. */
  advance(elapsedMs: number): void {
    const { isPlaying, source, rate, timeMs } = this.#state;
    if (!isPlaying || source !== 'track') return;
    const nextMs = clampTime(timeMs + elapsedMs * rate, this.#span);
    this.#set({ timeMs: nextMs, isPlaying: nextMs < this.#span.toMs });
  }

  #set(changes: Partial<PlayheadState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

/** Map and text need no more steps than that. */
const stepMs = 100;

/** Creates the playhead of a day and advances it while the component is visible. */
export function useCreatePlayhead(span: TimeSpan, initialMs: number): Playhead {
  const [playhead] = useState(() => new Playhead(span, initialMs));
  useEffect(() => {
    let lastMs = performance.now();
    const timer = setInterval(() => {
      const nowMs = performance.now();
      playhead.advance(nowMs - lastMs);
      lastMs = nowMs;
    }, stepMs);
    return () => clearInterval(timer);
  }, [playhead]);
  return playhead;
}

/** Returns the state of a playhead, and renders the component with each change. */
export const usePlayhead = (playhead: Playhead): PlayheadState =>
  useSyncExternalStore(playhead.subscribe, () => playhead.state);
