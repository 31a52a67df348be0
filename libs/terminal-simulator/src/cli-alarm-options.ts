import type { AttachmentBreak, AttachmentOptions } from './attachments/attachment-options.ts';
import type { SafetyAlarm } from './attachments/safety-alarms.ts';
import { UsageError } from './usage-error.ts';

/** Options of the command line about alarms of active safety and their files, as `parseArgs` wants them. */
export const ALARM_OPTIONS = {
  alarm: { type: 'string' },
  'alarm-every': { type: 'string' },
  'attachment-speed': { type: 'string' },
  'attachment-lost': { type: 'string' },
  'attachment-order': { type: 'string' },
  'attachment-resume': { type: 'string' },
  'attachment-break': { type: 'string' },
} as const;

/** Part of --help about alarms. */
export const ALARM_HELP = `alarms (fleet and terminal):
  --alarm K:TYPE      raises an alarm of T/JSATL 12 with a picture and a film: dsm:2, adas:1, bsd:3
  --alarm-every T     and again after this (60s)              --attachment-speed N   bytes a second (no limit)
  --attachment-lost   chunks that are lost, such as 0,2       --attachment-order     inOrder, reversed or twice
  --attachment-break H@B  accident after B bytes of a connection, H: reset or finish; H@BxN hits N of them
  --attachment-resume rest or fromZero, after an accident`;

/** Values of these options as they were given. */
export type AlarmValues = { [K in keyof typeof ALARM_OPTIONS]?: string | undefined };

/** An alarm that comes again and again. */
export type RepeatedAlarm = Pick<SafetyAlarm, 'kind' | 'type'> & { everyMs: number };

function wordOf<T extends string>(values: AlarmValues, name: keyof AlarmValues, allowed: readonly T[]): T | undefined {
  const text = values[name];
  const value = allowed.find((one) => one === text);
  if (text !== undefined && value === undefined)
    throw new UsageError(`--${name} "${text}" is none of ${allowed.join(', ')}`);
  return value;
}

function numberOf(name: keyof AlarmValues, text: string, min: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < min)
    throw new UsageError(`--${name} "${text}" is no whole number from ${min} on`);
  return Number(text);
}

function breaksOf(text: string | undefined): AttachmentBreak[] {
  if (text === undefined) return [];
  const match = /^(reset|finish)@(\d{1,9})(?:x(\d{1,4}))?$/.exec(text);
  if (match === null)
    throw new UsageError(`--attachment-break "${text}" is no accident such as reset@100000 or finish@5000x3`);
  const [, how, afterBytes, times = '1'] = match;
  return [{ how: how as AttachmentBreak['how'], afterBytes: Number(afterBytes), times: Number(times) }];
}

/** How the terminals send attachments. Throws UsageError. */
export function attachmentOptions(values: AlarmValues): AttachmentOptions {
  const { 'attachment-speed': speed, 'attachment-lost': lost } = values;
  return {
    attachmentBytesPerSecond: speed === undefined ? undefined : numberOf('attachment-speed', speed, 1),
    attachmentLostChunks: lost?.split(',').map((chunk) => numberOf('attachment-lost', chunk, 0)),
    attachmentOrder: wordOf(values, 'attachment-order', ['inOrder', 'reversed', 'twice']),
    attachmentResume: wordOf(values, 'attachment-resume', ['rest', 'fromZero']),
    attachmentBreaks: breaksOf(values['attachment-break']),
  };
}

/** The alarm that the terminals raise; `everyMs` is --alarm-every, read. Throws UsageError. */
export function alarmOption({ alarm }: AlarmValues, everyMs: number): RepeatedAlarm | undefined {
  if (alarm === undefined) return undefined;
  const match = /^(adas|dsm|bsd):(\d{1,3})$/.exec(alarm);
  const type = Number(match?.[2]);
  if (match === null || type > 255)
    throw new UsageError(`--alarm "${alarm}" is no alarm such as dsm:2, adas:1 or bsd:3`);
  return { kind: match[1] as RepeatedAlarm['kind'], type, everyMs };
}
