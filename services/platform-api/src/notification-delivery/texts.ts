import type { NotificationResponse } from '../domains/notifications/schema.ts';
import { textsOf, translations } from '../domains/notifications/type-texts.ts';
import { kindOf } from '../domains/notifications/types.ts';

type LatestReadings = Pick<
  NotificationResponse,
  'title' | 'description' | 'notification_type' | 'vehicle_no' | 'timestamp' | 'location' | 'attributes' | 'address'
>;

/** Language and formats of the reader. */
export interface Reader {
  readonly language: string;
  readonly timezone: string;
}

/** Returns title and description in the reader's language; a custom description is unchanged. */
export function titled(told: LatestReadings, { language }: Reader): { title: string; description: string } {
  const kind = kindOf(told.notification_type);
  if (kind === undefined) return told;
  const isOwn = ['en', ...Object.keys(translations)].every(
    (each) => textsOf(kind, each).description !== told.description,
  );
  const { title, description } = textsOf(kind, language);
  return { title, description: isOwn ? told.description : description };
}

const maxSmsLength = 300;

export function smsText(told: LatestReadings, reader: Reader): string {
  const { title, description } = titled(told, reader);
  return `${told.vehicle_no}: ${title}, ${momentAt(told.timestamp, reader.timezone)}. ${description}`.slice(
    0,
    maxSmsLength,
  );
}

export function mailOf(told: LatestReadings, reader: Reader): { subject: string; text: string } {
  const { title, description } = titled(told, reader);
  const { latitude, longitude } = told.location;
  const place = told.attributes['gps_valid'] === false ? [] : [told.address ?? `${latitude}, ${longitude}`];
  const lines = [description, '', told.vehicle_no, momentAt(told.timestamp, reader.timezone), ...place];
  // A line break in a subject would start another header.
  return { subject: `${told.vehicle_no}: ${title}`.replaceAll(/[\r\n]+/g, ' '), text: lines.join('\n') };
}

/** Returns `2026-01-31 13:45` in a time zone. */
function momentAt(ms: number, timeZone: string): string {
  const parts = new Intl.DateTimeFormat('en-CA', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  }).formatToParts(ms);
  const read = (type: Intl.DateTimeFormatPartTypes): string => parts.find((part) => part.type === type)?.value ?? '';
  return `${read('year')}-${read('month')}-${read('day')} ${read('hour')}:${read('minute')}`;
}
