import type { WantedNotifications } from '../domains/notifications/preferences.ts';
import type { NotifyChannel } from '../domains/notifications/schema.ts';
import type { Severity } from '../domains/notifications/types.ts';
import type { GlobalConfig, Preferences } from '../domains/preferences/schema.ts';

/** From one time of day up to another, `HH:MM`; over midnight where the first is the later one. */
export interface QuietHours {
  readonly from: string;
  readonly to: string;
}

/** What a user prefers, and what of it the user has said. */
export interface KnownPreferences {
  readonly values: Preferences;
  readonly said: Partial<Preferences['notifications']>;
}

/** What a decision is about. */
export interface Question {
  readonly channel: NotifyChannel;
  readonly type: string;
  readonly severity: Severity;
  readonly config: GlobalConfig;
  readonly wish: WantedNotifications;
  readonly preferences: KnownPreferences;
  readonly nowMs: number;
}

/** Whether an account tells its people of a type by a channel at all. */
export function isOffered(config: GlobalConfig, channel: NotifyChannel, type: string): boolean {
  const { enabled, notification_types: types } = config[channel];
  return enabled && types.includes(type);
}

/** Whether a user is told of something by a channel, now. */
export function isTold({ channel, type, severity, config, wish, preferences, nowMs }: Question): boolean {
  if (!isOffered(config, channel, type)) return false;
  if (!wish.notificationTypes.includes(type) || !hasChannel(channel, wish, preferences)) return false;
  // Critical ones pass quiet hours (platform-contract.md, section 14).
  if (severity === 'critical') return true;
  const { timezone, notifications } = preferences.values;
  const ofAccount = channel === 'email' ? null : config[channel].quiet_hours;
  return ![notifications.quiet_hours, ofAccount].some((hours) => hours !== null && isQuiet(hours, timezone, nowMs));
}

/** What a user has said of the vehicle counts, unless the user has turned the channel off for everything; without a word it is what holds for all vehicles. */
function hasChannel(channel: NotifyChannel, wish: WantedNotifications, { values, said }: KnownPreferences): boolean {
  if (wish.isDefault) return values.notifications[channel];
  return wish.channels.includes(channel) && said[channel] !== false;
}

/** Whether a moment lies in quiet hours of a time zone. */
export function isQuiet({ from, to }: QuietHours, timeZone: string, atMs: number): boolean {
  const clock = clockAt(atMs, timeZone);
  return from <= to ? clock >= from && clock < to : clock >= from || clock < to;
}

/** `HH:MM` of a moment in a time zone. */
export function clockAt(atMs: number, timeZone: string): string {
  const parts = { hourCycle: 'h23', hour: '2-digit', minute: '2-digit' } as const;
  return new Intl.DateTimeFormat('en-GB', { ...parts, timeZone }).format(atMs);
}
