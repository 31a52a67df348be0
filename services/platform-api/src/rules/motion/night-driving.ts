import { toLocalTime } from '../../platform/local-time.ts';
import { findingAt } from '../finding.ts';
import { noFindings, type Outcome, type Rule } from '../rule.ts';
import type { RuleSettings } from '../rule-settings.ts';

/** The last reported night. */
interface NightState {
  /** Local day of its beginning, as days since 1970. */
  readonly night: number;
}

/** Finds `night_driving`: the vehicle moves between 23:00 and 05:00 of its own time zone; once a night. */
export const nightDrivingRule: Rule<NightState> = {
  name: 'night_driving',
  takesLate: false,
  step(state, report, { vehicle, settings }): Outcome<NightState> {
    const { speed, gpsValid, timestamp } = report.position;
    if (!gpsValid || speed < settings.movingFromKmh) return noFindings(state);
    const night = nightAt(vehicle.timezone, timestamp, settings);
    if (night === null || night === state?.night) return noFindings(state);
    const finding = findingAt(report, { type: 'night_driving', subject: '', attributes: { speed } });
    return { state: { night }, findings: [finding], updates: [], mustPersist: true };
  },
};

/** Returns the night by the day of its beginning; null by day. */
function nightAt(timezone: string, atMs: number, { nightFromHour, nightToHour }: RuleSettings): number | null {
  const { minuteOfDay, day } = toLocalTime(timezone, atMs);
  const hour = minuteOfDay / 60;
  if (nightFromHour <= nightToHour) return hour >= nightFromHour && hour < nightToHour ? day : null;
  if (hour >= nightFromHour) return day;
  return hour < nightToHour ? day - 1 : null;
}
