import type { Geofence } from '../../domains/geofences/schema.ts';
import { quiet, type Rule } from '../rule.ts';
import { activeSafetyEvents } from './active-safety.ts';
import { AlarmBook } from './alarm-book.ts';
import type { AlarmState } from './alarm-state.ts';
import { alarmWordAlarms } from './alarm-word.ts';
import type { HeldAlarm } from './signals.ts';
import { videoAlarms } from './video-alarms.ts';

/**
 * Everything that a terminal itself says is wrong in a location report: alarm word, video alarms, T/JSATL 12 (platform-contract.md, sections 13.1, 13.2 and 28). All
 * sources are one rule, as two of them can tell of the same alarm, and the same type and subject within 30 seconds is one notification.
 */
export const terminalAlarms: Rule<AlarmState> = {
  name: 'terminal-alarms',
  takesLate: true,
  step(state, report, context) {
    // Partners send no alarms, so that their reports clear none either.
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

/** An area that was stored in the terminal from a geofence has that geofence's id. */
function withNames(alarms: readonly HeldAlarm[], geofences: readonly Geofence[]): readonly HeldAlarm[] {
  if (!alarms.some(({ type }) => type === 'geofence')) return alarms;
  return alarms.map((alarm) => {
    const areaId = alarm.attributes['area_id'];
    const geofence = geofences.find(({ _id, pushToTerminal }) => pushToTerminal && _id === areaId);
    if (alarm.type !== 'geofence' || geofence === undefined) return alarm;
    return { ...alarm, attributes: { ...alarm.attributes, geofence_id: geofence._id, geofence_name: geofence.name } };
  });
}
