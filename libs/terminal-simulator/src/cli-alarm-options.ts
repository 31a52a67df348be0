import type { AttachmentFault, AttachmentOptions } from './attachments/attachment-options.ts';
import type { SafetyAlarm } from './attachments/safety-alarms.ts';
import { UsageError } from './usage-error.ts';

/** Command-line options for active-safety alarms and their files, in the form that `parseArgs` requires. */
export const alarmOptionDefinitions = {
  alarm: { type: 'string' },
  'alarm-every': { type: 'string' },
  'attachment-speed': { type: 'string' },
  'attachment-lost': { type: 'string' },
  'attachment-order': { type: 'string' },
  'attachment-resume': { type: 'string' },
  'attachment-break': { type: 'string' },
} as const;

/** Section of --help about alarms. */
export const alarmHelp = `alarms (fleet and terminal):
  --alarm K:TYPE      raise an alarm of T/JSATL 12 with a picture and a video: dsm:2, adas:1, bsd:3
  --alarm-every T     interval of the alarms (60s)            --attachment-speed N   bytes per second (no limit)
  --attachment-lost   chunks to lose, such as 0,2             --attachment-order     inOrder, reversed or twice
  --attachment-break H@B  fault after B bytes of a connection, H: reset or finish; H@BxN affects N connections
  --attachment-resume rest or fromZero, after a fault`;

/** Values of these options as given on the command line. */
type AlarmValues = { [K in keyof typeof alarmOptionDefinitions]?: string | undefined };

/** An alarm that is raised periodically. */
export type RepeatedAlarm = Pick<SafetyAlarm, 'kind' | 'type'> & { everyMs: number };

function parseChoice<T extends string>(
  values: AlarmValues,
  name: keyof AlarmValues,
  allowed: readonly T[],
): T | undefined {
  const text = values[name];
  const value = allowed.find((candidate) => candidate === text);
  if (text !== undefined && value === undefined)
    throw new UsageError(`--${name} "${text}" is not one of ${allowed.join(', ')}`);
  return value;
}

function parseNumber(name: keyof AlarmValues, text: string, min: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < min)
    throw new UsageError(`--${name} "${text}" is not an integer of at least ${min}`);
  return Number(text);
}

function parseFaults(text: string | undefined): AttachmentFault[] {
  if (text === undefined) return [];
  const match = /^(reset|finish)@(\d{1,9})(?:x(\d{1,4}))?$/.exec(text);
  if (match === null)
    throw new UsageError(`--attachment-break "${text}" is not a fault such as reset@100000 or finish@5000x3`);
  const [, how, afterBytes, times = '1'] = match;
  return [{ how: how as AttachmentFault['how'], afterBytes: Number(afterBytes), times: Number(times) }];
}

/** Returns the options for sending attachments. Throws UsageError. */
export function parseAttachmentOptions(values: AlarmValues): AttachmentOptions {
  const { 'attachment-speed': speed, 'attachment-lost': lost } = values;
  return {
    attachmentBytesPerSecond: speed === undefined ? undefined : parseNumber('attachment-speed', speed, 1),
    attachmentLostChunks: lost?.split(',').map((chunk) => parseNumber('attachment-lost', chunk, 0)),
    attachmentOrder: parseChoice(values, 'attachment-order', ['inOrder', 'reversed', 'twice']),
    attachmentResume: parseChoice(values, 'attachment-resume', ['rest', 'fromZero']),
    attachmentFaults: parseFaults(values['attachment-break']),
  };
}

/** Returns the alarm that the terminals raise; `everyMs` is the parsed --alarm-every. Throws UsageError. */
export function parseAlarmOption({ alarm }: AlarmValues, everyMs: number): RepeatedAlarm | undefined {
  if (alarm === undefined) return undefined;
  const match = /^(adas|dsm|bsd):(\d{1,3})$/.exec(alarm);
  const type = Number(match?.[2]);
  if (match === null || type > 255)
    throw new UsageError(`--alarm "${alarm}" is not an alarm such as dsm:2, adas:1 or bsd:3`);
  return { kind: match[1] as RepeatedAlarm['kind'], type, everyMs };
}
