import type { TerminalOptions } from '@fleet/terminal-simulator';

type Track = NonNullable<TerminalOptions['track']>;
type TrackPoint = ReturnType<Track['at']>;

/** A vehicle that a test drives: it is where and as fast as the test says. */
export class ManualTrack implements Track {
  readonly name = 'manual';
  #point: TrackPoint;

  constructor(latitudeDeg: number, longitudeDeg: number) {
    this.#point = {
      latitudeDeg,
      longitudeDeg,
      altitudeM: 10,
      speedKmh: 0,
      directionDeg: 0,
      isIgnitionOn: false,
      distanceM: 0,
    };
  }

  at(): TrackPoint {
    return this.#point;
  }

  set(change: Partial<TrackPoint>): void {
    this.#point = { ...this.#point, ...change };
  }
}
