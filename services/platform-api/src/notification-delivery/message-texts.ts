import type { NotificationResponse } from '../domains/notifications/schema.ts';
import { textsOf } from '../domains/notifications/type-texts.ts';
import { languages } from '../domains/notifications/type-translations.ts';
import { findTypeDefinition } from '../domains/notifications/types.ts';

type NotificationFields = Pick<
  NotificationResponse,
  'title' | 'description' | 'notification_type' | 'vehicle_no' | 'timestamp' | 'location' | 'attributes' | 'address'
>;

/** Language and formats of the reader. */
interface Reader {
  readonly language: string;
  readonly timezone: string;
}

/** Returns title and description in the reader's language; a custom description is unchanged. */
export function localizeTexts(
  notification: NotificationFields,
  { language }: Reader,
): { title: string; description: string } {
  const kind = findTypeDefinition(notification.notification_type);
  if (kind === undefined) return notification;
  const isCustom = ['en', ...languages].every((each) => textsOf(kind, each).description !== notification.description);
  const { title, description } = textsOf(kind, language);
  return { title, description: isCustom ? notification.description : description };
}

const maxSmsLength = 300;

export function smsText(notification: NotificationFields, reader: Reader): string {
  const { title, description } = localizeTexts(notification, reader);
  return `${notification.vehicle_no}: ${title}, ${formatTimestamp(notification.timestamp, reader.timezone)}. ${description}`.slice(
    0,
    maxSmsLength,
  );
}

export function mailContent(notification: NotificationFields, reader: Reader): { subject: string; text: string } {
  const { title, description } = localizeTexts(notification, reader);
  const { latitude, longitude } = notification.location;
  const place =
    notification.attributes['gps_valid'] === false ? [] : [notification.address ?? `${latitude}, ${longitude}`];
  const lines = [
    description,
    '',
    notification.vehicle_no,
    formatTimestamp(notification.timestamp, reader.timezone),
    ...place,
  ];
  // A line break in a subject would start another header.
  return { subject: `${notification.vehicle_no}: ${title}`.replaceAll(/[\r\n]+/g, ' '), text: lines.join('\n') };
}

/** Returns `2026-01-31 13:45` in a time zone. */
function formatTimestamp(ms: number, timeZone: string): string {
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
