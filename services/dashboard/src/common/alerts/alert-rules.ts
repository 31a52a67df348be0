import { isQuiet, type QuietHours } from './quiet-hours.ts';

/** A notification of the websocket, as alerts need it. */
export interface AlertEvent {
  readonly id: number;
  readonly version: number;
  readonly title: string;
  readonly severity: string;
  readonly vehicle_id: number;
  readonly vehicle_no: string;
  readonly notification_type: string;
  readonly acknowledged_at: string | null;
  readonly backfilled: boolean;
}

/** Events that arrive within this time are one burst. */
export const burstMs = 5_000;
/** Ids that are remembered, so that a repeated event is announced once. */
const maxKnown = 1_000;

/** Decides which events are announced, and how. */
export class AlertRules {
  readonly #known = new Set<number>();
  #lastSoundAtMs = Number.NEGATIVE_INFINITY;

  /** Returns whether an event is new: not a change, not seen before, not late, and open. */
  isNew({ id, version, acknowledged_at: acknowledgedAt, backfilled }: AlertEvent): boolean {
    if (version > 1 || acknowledgedAt !== null || backfilled || this.#known.has(id)) return false;
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.add(id);
    return true;
  }

  /** Returns whether a critical event makes a sound: the first one of a burst does. */
  takeSound({ severity }: AlertEvent, nowMs: number): boolean {
    if (severity !== 'critical' || nowMs - this.#lastSoundAtMs < burstMs) return false;
    this.#lastSoundAtMs = nowMs;
    return true;
  }
}

/** Returns whether the browser announces an event: critical ones always, warnings outside the quiet hours. */
export function isAnnounced(
  { severity }: Pick<AlertEvent, 'severity'>,
  nowMs: number,
  hours: QuietHours | null,
  timeZone: string,
): boolean {
  if (severity === 'critical') return true;
  return severity === 'warning' && !isQuiet(nowMs, hours, timeZone);
}
