import { dayMs } from '@fleet/service-kit';

/** A sustained alarm from its rise until its removal. Times are the device's, ms. */
export interface Condition {
  /** First and newest report with the alarm. */
  readonly firstMs: number;
  readonly lastMs: number;
  /** First later report without the alarm. */
  readonly clearMs: number | null;
}

/** An alarm with a start, until some time after its end. */
export interface OpenAlarm {
  readonly dedupeKey: string;
  /** Time of the report with its start. */
  readonly sinceMs: number;
  /** Time of the last report about it. */
  readonly seenMs: number;
  readonly ended: boolean;
}

/** A notification into which equal alarms within 30 seconds are folded. */
export interface FoldedAlarm {
  readonly type: string;
  readonly subject: string;
  readonly atMs: number;
  /** Time of the report that raised it. */
  readonly seenMs: number;
  readonly count: number;
  readonly late: boolean;
}

/** State of one sequence of reports: timely or late ones. */
export interface ReportSequence {
  /** Time of its newest report. */
  readonly atMs: number;
  /** By type and subject. */
  readonly conditions: Readonly<Record<string, Condition>>;
  /** By type and subject. */
  readonly open: Readonly<Record<string, OpenAlarm>>;
}

/** State of the rule of terminal alarms. */
export interface AlarmState {
  readonly present?: ReportSequence;
  /** Late reports have a separate slice, so that they do not change the present. */
  readonly late?: ReportSequence;
  readonly firsts?: readonly FoldedAlarm[];
}

/** Retention of ended alarms, so that a repeated report is no new alarm. */
export const retentionMs = 600_000;
/** Late reports further apart than this are separate: their alarms are not the same. */
export const lateGapMs = 600_000;
/** Time after which the end of an alarm is not expected any more. */
const endWaitMs = dayMs;
/** Terminals that never send an end would fill the state. */
const maxOpen = 64;
const maxFirsts = 64;

const distance = (left: number, right: number): number => Math.abs(left - right);

/** Returns the slice without alarms that ended long ago; undefined if it is empty. */
export function pruneState(state: AlarmState, atMs: number, isLate: boolean, foldMs: number): AlarmState | undefined {
  const firsts = (state.firsts ?? [])
    .filter((first) => first.late !== isLate || distance(first.seenMs, atMs) <= Math.max(foldMs, retentionMs))
    .slice(-maxFirsts);
  const present = isLate ? state.present : pruneSequence(state.present, atMs);
  const late = isLate ? pruneSequence(state.late, atMs) : state.late;
  const rest = {
    ...(present === undefined ? {} : { present }),
    ...(late === undefined ? {} : { late }),
    ...(firsts.length === 0 ? {} : { firsts }),
  };
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function pruneSequence(slice: ReportSequence | undefined, atMs: number): ReportSequence | undefined {
  if (slice === undefined) return undefined;
  const conditions = Object.entries(slice.conditions).filter(
    ([, { clearMs }]) => clearMs === null || distance(clearMs, atMs) <= retentionMs,
  );
  const open = Object.entries(slice.open)
    .filter(([, { ended, seenMs }]) => distance(seenMs, atMs) <= (ended ? retentionMs : endWaitMs))
    .slice(-maxOpen);
  if (conditions.length === 0 && open.length === 0) return undefined;
  return { atMs: slice.atMs, conditions: Object.fromEntries(conditions), open: Object.fromEntries(open) };
}
