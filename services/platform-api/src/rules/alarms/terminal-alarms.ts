import type { Geofence } from '../../domains/geofences/schema.ts';
import { noFindings, type Rule } from '../rule.ts';
import { activeSafetyEvents } from './active-safety.ts';
import type { AlarmState } from './alarm-state.ts';
import { AlarmTracker } from './alarm-tracker.ts';
import { alarmWordAlarms } from './alarm-word.ts';
import type { SustainedAlarm } from './signals.ts';
import { videoAlarms } from './video-alarms.ts';

/**
 * Finds the alarms that a terminal itself reports: alarm word, video alarms, T/JSATL 12. All sources are one rule,
 * because two of them can report the same alarm: equal type and subject within 30 seconds are one notification.
 */
export const terminalAlarms: Rule<AlarmState> = {
  name: 'terminal-alarms',
  takesLate: true,
  step(state, report, context) {
    // Partners send no alarms, so their reports clear none.
    if (report.edition === 'partner') return noFindings<AlarmState>(state);
    const held = [...alarmWordAlarms(report), ...videoAlarms(report)];
    const events = activeSafetyEvents(report, context.vehicle.cameraUtcOffset);
    if (state === undefined && held.length === 0 && events.length === 0) return noFindings<AlarmState>(state);
    const tracker = new AlarmTracker(state, report, context);
    tracker.updateSustained(withNames(held, context.geofences));
    for (const event of events) tracker.addEvent(event);
    return tracker.outcome();
  },
};

/** Returns the geofence of an area that was stored in the terminal. */
function withNames(alarms: readonly SustainedAlarm[], geofences: readonly Geofence[]): readonly SustainedAlarm[] {
  if (!alarms.some(({ type }) => type === 'geofence')) return alarms;
  return alarms.map((alarm) => {
    const areaId = alarm.attributes['area_id'];
    const geofence = geofences.find(({ _id, pushToTerminal }) => pushToTerminal && _id === areaId);
    if (alarm.type !== 'geofence' || geofence === undefined) return alarm;
    return { ...alarm, attributes: { ...alarm.attributes, geofence_id: geofence._id, geofence_name: geofence.name } };
  });
}
