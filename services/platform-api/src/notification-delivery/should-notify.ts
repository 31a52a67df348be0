import type { WantedNotifications } from '../domains/notifications/preferences.ts';
import type { NotifyChannel } from '../domains/notifications/schema.ts';
import type { Severity } from '../domains/notifications/types.ts';
import type { GlobalConfig, Preferences } from '../domains/preferences/schema.ts';

/** From one time of day to another, `HH:MM`; over midnight if the first is later. */
interface QuietHours {
  readonly from: string;
  readonly to: string;
}

/** Preferences of a user, and which of them the user has set. */
export interface RecipientPreferences {
  readonly values: Preferences;
  readonly explicit: Partial<Preferences['notifications']>;
}

/** Context of a decision. */
export interface NotifyContext {
  readonly channel: NotifyChannel;
  readonly type: string;
  readonly severity: Severity;
  readonly config: GlobalConfig;
  readonly vehiclePreference: WantedNotifications;
  readonly preferences: RecipientPreferences;
  readonly nowMs: number;
}

/** Returns whether an account sends a type over a channel at all. */
export function isChannelEnabled(config: GlobalConfig, channel: NotifyChannel, type: string): boolean {
  const { enabled, notification_types: types } = config[channel];
  return enabled && types.includes(type);
}

/** Returns whether a user receives a notification over a channel now. */
export function shouldNotify({
  channel,
  type,
  severity,
  config,
  vehiclePreference: preference,
  preferences,
  nowMs,
}: NotifyContext): boolean {
  if (!isChannelEnabled(config, channel, type)) return false;
  if (!preference.notificationTypes.includes(type) || !isChannelSelected(channel, preference, preferences))
    return false;
  // Critical ones ignore quiet hours.
  if (severity === 'critical') return true;
  const { timezone, notifications } = preferences.values;
  const ofAccount = channel === 'email' ? null : config[channel].quiet_hours;
  return ![notifications.quiet_hours, ofAccount].some(
    (hours) => hours !== null && isInQuietHours(hours, timezone, nowMs),
  );
}

// The user's setting for the vehicle counts unless the channel is disabled; by default that for all vehicles.
function isChannelSelected(
  channel: NotifyChannel,
  preference: WantedNotifications,
  { values, explicit }: RecipientPreferences,
): boolean {
  if (preference.isDefault) return values.notifications[channel];
  return preference.channels.includes(channel) && explicit[channel] !== false;
}

/** Returns whether a timestamp is in quiet hours of a time zone. */
export function isInQuietHours({ from, to }: QuietHours, timeZone: string, atMs: number): boolean {
  const clock = timeOfDayAt(atMs, timeZone);
  return from <= to ? clock >= from && clock < to : clock >= from || clock < to;
}

/** Returns `HH:MM` of a timestamp in a time zone. */
function timeOfDayAt(atMs: number, timeZone: string): string {
  const parts = { hourCycle: 'h23', hour: '2-digit', minute: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-GB', { ...parts, timeZone }).format(atMs);
}
