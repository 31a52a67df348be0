/** A held alarm between its rise and its being forgotten. Times are the device's, ms. */
export interface Condition {
  /** First and newest report in which it was up. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** First report since in which it was clear. */
  readonly clearMs: number | null;
}

/** An alarm with a start, until some time after its end. */
export interface OpenAlarm {
  readonly dedupeKey: string;
  /** Report that brought its start. */
  readonly sinceMs: number;
  /** When it was last heard of. */
  readonly seenMs: number;
  readonly ended: boolean;
}

/** A notification into which the same again within 30 seconds is folded. */
export interface First {
  readonly type: string;
  readonly subject: string;
  readonly atMs: number;
  /** Report that raised it. */
  readonly seenMs: number;
  readonly count: number;
  readonly late: boolean;
}

/** What is known of one line of reports: those that came in time, or those that came late. */
export interface Slice {
  /** Time of its newest report. */
  readonly atMs: number;
  /** By type and subject. */
  readonly conditions: Readonly<Record<string, Condition>>;
  /** By type and subject. */
  readonly open: Readonly<Record<string, OpenAlarm>>;
}

/** State of the rule of terminal alarms. */
export interface AlarmState {
  readonly present?: Slice;
  /** Late reports have a slice of their own, so that they change nothing of the present. */
  readonly late?: Slice;
  readonly firsts?: readonly First[];
}

/** How long what is over stays known, so that a report that comes again is no new alarm. */
export const forgetMs = 600_000;
/** Late reports that are further apart than this do not belong together: what was up then is not the same alarm. */
export const lateRunMs = 600_000;
/** After this time the end of an alarm is not waited for any longer. */
const endWaitMs = 86_400_000;
/** Terminals that never send an end would fill the state. */
const maxOpen = 64;
const maxFirsts = 64;

const distance = (left: number, right: number): number => Math.abs(left - right);

/** Without what is over and has been for long; undefined when nothing is left. */
export function tidied(state: AlarmState, atMs: number, isLate: boolean, foldMs: number): AlarmState | undefined {
  const firsts = (state.firsts ?? [])
    .filter((first) => first.late !== isLate || distance(first.seenMs, atMs) <= Math.max(foldMs, forgetMs))
    .slice(-maxFirsts);
  const present = isLate ? state.present : tidiedSlice(state.present, atMs);
  const late = isLate ? tidiedSlice(state.late, atMs) : state.late;
  const rest = {
    ...(present === undefined ? {} : { present }),
    ...(late === undefined ? {} : { late }),
    ...(firsts.length === 0 ? {} : { firsts }),
  };
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function tidiedSlice(slice: Slice | undefined, atMs: number): Slice | undefined {
  if (slice === undefined) return undefined;
  const conditions = Object.entries(slice.conditions).filter(
    ([, { clearMs }]) => clearMs === null || distance(clearMs, atMs) <= forgetMs,
  );
  const open = Object.entries(slice.open)
    .filter(([, { ended, seenMs }]) => distance(seenMs, atMs) <= (ended ? forgetMs : endWaitMs))
    .slice(-maxOpen);
  if (conditions.length === 0 && open.length === 0) return undefined;
  return { atMs: slice.atMs, conditions: Object.fromEntries(conditions), open: Object.fromEntries(open) };
}
