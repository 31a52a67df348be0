import type { Geofence } from '../../domains/geofences/schema.ts';
import { quiet, type Rule } from '../rule.ts';
import { activeSafetyEvents } from './active-safety.ts';
import { AlarmBook } from './alarm-book.ts';
import type { AlarmState } from './alarm-state.ts';
import { alarmWordAlarms } from './alarm-word.ts';
import type { HeldAlarm } from './signals.ts';
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
    if (report.edition === 'partner') return quiet<AlarmState>(state);
    const held = [...alarmWordAlarms(report), ...videoAlarms(report)];
    const events = activeSafetyEvents(report, context.vehicle.cameraUtcOffset);
    if (state === undefined && held.length === 0 && events.length === 0) return quiet<AlarmState>(state);
    const book = new AlarmBook(state, report, context);
    book.hold(withNames(held, context.geofences));
    for (const event of events) book.take(event);
    return book.outcome();
  },
};

/** Returns the geofence of an area that was stored in the terminal. */
function withNames(alarms: readonly HeldAlarm[], geofences: readonly Geofence[]): readonly HeldAlarm[] {
  if (!alarms.some(({ type }) => type === 'geofence')) return alarms;
  return alarms.map((alarm) => {
    const areaId = alarm.attributes['area_id'];
    const geofence = geofences.find(({ _id, pushToTerminal }) => pushToTerminal && _id === areaId);
    if (alarm.type !== 'geofence' || geofence === undefined) return alarm;
    return { ...alarm, attributes: { ...alarm.attributes, geofence_id: geofence._id, geofence_name: geofence.name } };
  });
}
