import type { Report } from '../../telemetry/report.ts';
import { alarmWordTypes } from './alarm-word.ts';
import { videoAlarmTypes } from './video-alarms.ts';

/** Returns the types of a report's active alarms, each once: those of the alarm word and of the video items. */
export const currentAlarms = (report: Report): string[] => {
  if (report.alarmWord === 0 && report.extras.length === 0) return [];
  return [...new Set([...alarmWordTypes(report), ...videoAlarmTypes(report)])];
};
