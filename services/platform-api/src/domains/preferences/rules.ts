import { AppError, validationError } from '@fleet/service-kit';
import { defaultTypes } from '../notifications/rules.ts';
import type { ConfigBody, GlobalConfig, Preferences, PreferencesBody } from './schema.ts';

/** Returns the default preferences; language and time zone are those of the user. */
export const defaultPreferences = (user: { language: string; timezone: string }): Preferences => ({
  language: user.language,
  timezone: user.timezone,
  distance_unit: 'km',
  speed_unit: 'kmh',
  volume_unit: 'l',
  date_format: 'DD/MM/YYYY',
  time_format: '24h',
  theme: 'system',
  map: { style: 'streets', center: null, zoom: 10, follow: false, clusters: true },
  notifications: { push: true, sms: false, email: false, sound: true, quiet_hours: null },
  default_group_id: null,
  video: {
    stream_type: 'LOW',
    grid: 4,
    audio: true,
    data_budget_mb: null,
    over_budget: 'notify',
    vehicle_data_budgets: [],
  },
  dashboard: {},
});

/** Returns the default configuration of an account. */
export const defaultConfig = (): GlobalConfig => ({
  sms: {
    enabled: false,
    provider: 'log',
    sender_id: null,
    notification_types: ['sos'],
    daily_limit: 100,
    quiet_hours: null,
  },
  push: {
    enabled: true,
    provider: 'log',
    notification_types: [...defaultTypes],
    dedupe_seconds: 60,
    quiet_hours: null,
  },
  email: { enabled: false, from: null, notification_types: ['sos'] },
  retention: { locations_days: 180, notifications_days: 365, media_days: 90 },
});

/** Merges new values over old ones, one level deep: fields of nested objects are merged too. */
export function merged<T extends object>(old: T, change: object): T {
  const result = { ...old } as Record<string, unknown>;
  for (const [name, value] of Object.entries(change)) {
    const before = result[name];
    result[name] = isPlain(before) && isPlain(value) ? { ...before, ...value } : value;
  }
  return result as T;
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const dashboardLimitBytes = 16 * 1024;

/** Throws 400 for values that the schema cannot check. */
export function checkPreferences(body: PreferencesBody, result: Preferences): void {
  if (body.timezone !== undefined && !isTimeZone(body.timezone))
    throw validationError([{ path: '/timezone', message: 'must be an IANA time zone, such as Asia/Kolkata' }]);
  if (body.dashboard !== undefined && Buffer.byteLength(JSON.stringify(result.dashboard)) > dashboardLimitBytes)
    throw validationError([{ path: '/dashboard', message: 'must not be larger than 16 KiB' }]);
}

function isTimeZone(name: string): boolean {
  try {
    // An offset is not a time zone name.
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }).format(0) !== '';
  } catch {
    // Intl throws for an unknown time zone.
    return false;
  }
}

/** The providers that the environment configures. */
export interface Providers {
  readonly sms: readonly string[];
  readonly push: readonly string[];
}

/** Throws 503 for a provider without settings, which come only from the environment. */
export function requireProviders(body: ConfigBody, providers: Providers): void {
  for (const kind of ['sms', 'push'] as const) {
    const named = body[kind]?.provider;
    if (named !== undefined && !providers[kind].includes(named))
      throw new AppError(
        'provider_not_configured',
        `The ${kind} provider ${named} is not configured on this installation.`,
      );
  }
}
