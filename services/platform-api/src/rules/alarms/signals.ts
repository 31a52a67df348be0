import type { Severity } from '../../domains/notifications/types.ts';

/** An active alarm: it lasts from the first report that has it to the first that lacks it. */
export interface SustainedAlarm {
  readonly type: string;
  readonly subject: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Single event, start or end of a longer one (`flag` 0, 1, 2 of T/JSATL 12-2017). */
export type Phase = 'event' | 'start' | 'end';

/** An alarm event of a report, with its own time and position if it has them. */
export interface AlarmEvent {
  readonly type: string;
  readonly subject: string;
  readonly phase: Phase;
  readonly atMs: number;
  readonly latitude: number;
  readonly longitude: number;
  readonly gpsValid: boolean;
  readonly severity?: Severity;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Tag of the files that the terminal stores for it, if any. */
  readonly tag?: { readonly hex: string; readonly count: number };
  /** An end that is ignored unless its start is known. */
  readonly endsOnly?: boolean;
}

const bits = Array.from({ length: 32 }, (_none, bit) => bit);
const noBits: readonly number[] = [];

/** Returns the numbers of the set bits. */
export const bitsOf = (mask: number): readonly number[] =>
  mask === 0 ? noBits : bits.filter((bit) => ((mask >>> bit) & 1) === 1);
