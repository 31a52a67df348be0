import { dayMs } from '@fleet/service-kit';
import { findTypeDefinition } from '../../domains/notifications/types.ts';
import type { Report } from '../../telemetry/report.ts';
import {
  type AttachmentRequest,
  dedupeKeyOf,
  type Finding,
  type FindingUpdate,
  type Outcome,
  type RuleContext,
} from '../rule.ts';
import {
  type AlarmState,
  type Condition,
  type FoldedAlarm,
  lateGapMs,
  type OpenAlarm,
  pruneState,
  type ReportSequence,
} from './alarm-state.ts';
import type { AlarmEvent, SustainedAlarm } from './signals.ts';

type AlarmDetails = Pick<Finding, 'type' | 'subject' | 'atMs' | 'latitude' | 'longitude' | 'gpsValid' | 'attributes'> &
  Pick<Finding, 'severity'>;

/** Files of an alarm that is reported later than this are not requested. */
const maxAttachmentAgeMs = dayMs;

const alarmKey = ({ type, subject }: { readonly type: string; readonly subject: string }): string =>
  `${type}|${subject}`;

/** Collects the result of a report for the alarms of its vehicle: a changed copy of their state, and the findings. */
export class AlarmTracker {
  readonly #report: Report;
  readonly #context: RuleContext;
  readonly #state: AlarmState;
  readonly #conditions: Map<string, Condition>;
  readonly #open: Map<string, OpenAlarm>;
  readonly #other: ReportSequence | undefined;
  readonly #findings: Finding[] = [];
  readonly #updates: FindingUpdate[] = [];
  /** By tag: all alarms of one item share it. */
  readonly #attachmentRequests = new Map<string, AttachmentRequest>();
  #firsts: readonly FoldedAlarm[];
  #mustPersist = false;

  constructor(state: AlarmState | undefined, report: Report, context: RuleContext) {
    this.#report = report;
    this.#context = context;
    this.#state = state ?? {};
    const own = report.isLate ? this.#state.late : this.#state.present;
    this.#other = report.isLate ? this.#state.present : this.#state.late;
    const isOtherRun = report.isLate && own !== undefined && Math.abs(own.atMs - this.#atMs) > lateGapMs;
    this.#conditions = new Map(isOtherRun ? [] : Object.entries(own?.conditions ?? {}));
    this.#open = new Map(Object.entries(own?.open ?? {}));
    this.#firsts = this.#state.firsts ?? [];
  }

  get #atMs(): number {
    return this.#report.position.timestamp;
  }

  /** Processes all active alarms of the report: new ones are raised, missing ones have cleared. */
  updateSustained(alarms: readonly SustainedAlarm[]): void {
    const up = new Set<string>();
    for (const alarm of alarms) {
      const key = this.#sustainedKey(alarm);
      up.add(key);
      const known = this.#conditions.get(key);
      if (known !== undefined && !this.#isRearmed(alarm.type, known)) {
        this.#continue(key, known, alarm);
      } else if (!this.#isPresentAlarm(key)) {
        this.#conditions.set(key, { firstMs: this.#atMs, lastMs: this.#atMs, clearMs: null });
        this.#mustPersist = true;
        const { latitude, longitude, gpsValid } = this.#report.position;
        this.#addFinding({ ...alarm, atMs: this.#atMs, latitude, longitude, gpsValid });
      }
    }
    for (const [key, condition] of this.#conditions) {
      if (up.has(key) || condition.clearMs !== null) continue;
      this.#conditions.set(key, { ...condition, clearMs: this.#atMs });
      this.#mustPersist = true;
    }
  }

  /** Processes an event, or the start or the end of an alarm. */
  addEvent(event: AlarmEvent): void {
    const dedupeKey = this.#applyEvent(event);
    const { tag, atMs } = event;
    if (dedupeKey === undefined || tag === undefined || this.#attachmentRequests.has(tag.hex)) return;
    if (this.#report.position.serverTimestamp - atMs > maxAttachmentAgeMs) return;
    this.#attachmentRequests.set(tag.hex, { dedupeKey, tagHex: tag.hex, count: tag.count, atMs });
  }

  outcome(): Outcome<AlarmState> {
    const slice: ReportSequence = {
      atMs: this.#atMs,
      conditions: Object.fromEntries(this.#conditions),
      open: Object.fromEntries(this.#open),
    };
    const { isLate } = this.#report;
    const next = { ...this.#state, firsts: this.#firsts, ...(isLate ? { late: slice } : { present: slice }) };
    return {
      state: pruneState(next, this.#atMs, isLate, this.#context.settings.foldMs),
      findings: this.#findings,
      updates: this.#updates,
      ...(this.#attachmentRequests.size === 0 ? {} : { attachmentRequests: [...this.#attachmentRequests.values()] }),
      mustPersist: this.#mustPersist,
    };
  }

  /** Returns the dedupe key of the alarm's notification; undefined without one. */
  #applyEvent(event: AlarmEvent): string | undefined {
    const key = alarmKey(event);
    const known = this.#open.get(key);
    if (event.phase === 'event') return this.#addFinding(event);
    if (event.phase === 'end') return this.#end(key, event, known ?? this.#other?.open[key]);
    const { rearmMs, foldMs } = this.#context.settings;
    if (known !== undefined && !known.ended && this.#isWithin(known.seenMs, rearmMs)) {
      // Terminals repeat the start of an active alarm.
      if (this.#isWithin(known.sinceMs, foldMs)) this.#fold(event);
      this.#setOpen(key, { ...known, seenMs: this.#atMs });
      return known.dedupeKey;
    }
    // Ended before, or its end was lost: this is another alarm.
    this.#mustPersist = true;
    const dedupeKey = this.#addFinding(event);
    this.#setOpen(key, { dedupeKey, sinceMs: this.#atMs, seenMs: this.#atMs, ended: false });
    return dedupeKey;
  }

  // A bit without its detail after the first report keeps its subject.
  #sustainedKey(alarm: SustainedAlarm): string {
    const key = alarmKey(alarm);
    if (alarm.subject !== '' || this.#conditions.has(key)) return key;
    const same = [...this.#conditions].find(([each, { clearMs }]) => clearMs === null && each.startsWith(key));
    return same?.[0] ?? key;
  }

  #isWithin(thenMs: number, spanMs: number): boolean {
    return Math.abs(this.#atMs - thenMs) <= spanMs;
  }

  // Critical types can be raised again once they have cleared, the others after a time.
  #isRearmed(type: string, { clearMs }: Condition): boolean {
    if (clearMs === null) return false;
    return (
      findTypeDefinition(type)?.severity === 'critical' ||
      Math.abs(this.#atMs - clearMs) >= this.#context.settings.rearmMs
    );
  }

  #continue(key: string, known: Condition, alarm: SustainedAlarm): void {
    if (known.clearMs !== null) {
      this.#mustPersist = true;
      // It was clear for too short a time to be raised again.
      this.#fold({ ...alarm, atMs: this.#atMs });
    }
    const { firstMs, lastMs } = known;
    this.#conditions.set(key, {
      firstMs: Math.min(firstMs, this.#atMs),
      lastMs: Math.max(lastMs, this.#atMs),
      clearMs: null,
    });
  }

  /** Returns true for a late report of a time at which the present alarm was known to be active. */
  #isPresentAlarm(key: string): boolean {
    const condition = this.#report.isLate ? this.#state.present?.conditions[key] : undefined;
    return condition !== undefined && condition.firstMs <= this.#atMs && this.#atMs <= condition.lastMs;
  }

  #end(key: string, event: AlarmEvent, known: OpenAlarm | undefined): string | undefined {
    const endedAt = new Date(event.atMs).toISOString();
    if (known === undefined) {
      if (event.endsOnly === true) return undefined;
      // Its start was lost.
      const dedupeKey = this.#addFinding({ ...event, attributes: { ...event.attributes, ended_at: endedAt } });
      this.#mustPersist = true;
      this.#setOpen(key, { dedupeKey, sinceMs: this.#atMs, seenMs: this.#atMs, ended: true });
      return dedupeKey;
    }
    if (known.ended && this.#isWithin(known.seenMs, this.#context.settings.rearmMs)) return known.dedupeKey;
    this.#updates.push({ dedupeKey: known.dedupeKey, attributes: { ended_at: endedAt } });
    this.#mustPersist = true;
    this.#setOpen(key, { ...known, seenMs: this.#atMs, ended: true });
    return known.dedupeKey;
  }

  // The newest ones are last and remain if there are too many.
  #setOpen(key: string, alarm: OpenAlarm): void {
    this.#open.delete(key);
    this.#open.set(key, alarm);
  }

  /** Raises a notification, or counts the alarm in a recent one; returns the dedupe key. */
  #addFinding(found: AlarmDetails): string {
    const folded = this.#fold(found);
    if (folded !== undefined) return folded;
    const { type, subject, atMs, latitude, longitude, gpsValid, severity, attributes } = found;
    const { isLate, position } = this.#report;
    this.#findings.push({
      type,
      subject,
      atMs,
      latitude,
      longitude,
      gpsValid,
      ...(severity === undefined ? {} : { severity }),
      attributes,
      backfilled: isLate || position.backfilled,
    });
    const first: FoldedAlarm = { type, subject, atMs, seenMs: this.#atMs, count: 1, late: isLate };
    this.#firsts = [...this.#firsts, first];
    this.#mustPersist = true;
    return dedupeKeyOf(this.#report.imei, found);
  }

  /** Counts the alarm in the first of its kind within the dedupe window, if there is one; returns its dedupe key. */
  #fold({ type, subject, atMs, attributes }: Pick<AlarmDetails, 'type' | 'subject' | 'atMs' | 'attributes'>) {
    const { foldMs } = this.#context.settings;
    const isFirst = (each: FoldedAlarm): boolean =>
      each.type === type && each.subject === subject && Math.abs(each.atMs - atMs) <= foldMs;
    const first = this.#firsts.find(isFirst);
    if (first === undefined) return undefined;
    const counted = { ...first, count: first.count + 1 };
    this.#firsts = this.#firsts.map((each) => (each === first ? counted : each));
    const dedupeKey = dedupeKeyOf(this.#report.imei, first);
    const newest = 'tyres' in attributes ? { tyres: attributes['tyres'] } : {};
    this.#updates.push({ dedupeKey, attributes: { count: counted.count, ...newest } });
    this.#mustPersist = true;
    return dedupeKey;
  }
}
