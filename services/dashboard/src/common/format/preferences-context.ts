import type { components } from '@fleet/api-client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../session/session-context.ts';
import { type FormatOptions, formatAge, formatClock, formatDateTime, formatExact, formatIsoDate } from './age.ts';
import { getServerTimeMs } from './clock.ts';
import { formatDistance, formatSpeed, formatVolume, type Units } from './units.ts';

export type Preferences = components['schemas']['Preferences'];

/** Returns the preferences of the user; undefined until they are loaded. */
export function usePreferences(): Preferences | undefined {
  const { api } = useSession();
  const { data } = useQuery({
    queryKey: ['getPreferences'],
    queryFn: async () => (await api.GET('/api/user-preferences/me')).data?.data,
  });
  return data;
}

const browserZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Returns functions that show values in the language, the zone and the units of the user. */
export function useFormat() {
  const preferences = usePreferences();
  const { i18n } = useTranslation();
  return useMemo(() => {
    const options: FormatOptions = {
      language: i18n.language,
      timeZone: preferences?.timezone ?? browserZone(),
      isTwelveHours: preferences?.time_format === '12h',
    };
    const units: Units = {
      distance: preferences?.distance_unit === 'mi' ? 'mi' : 'km',
      speed: preferences?.speed_unit ?? 'kmh',
      volume: preferences?.volume_unit === 'gal' ? 'gal' : 'l',
    };
    return {
      age: (timeMs: number, nowMs: number) => formatAge(timeMs, nowMs, options),
      clock: (timeMs: number) => formatClock(timeMs, options),
      date: (timeMs: number) => formatIsoDate(timeMs, options),
      dateTime: (timeMs: number) => formatDateTime(timeMs, options),
      exact: (timeMs: number) => formatExact(timeMs, options),
      speed: (kmh: number) => formatSpeed(kmh, units),
      distance: (km: number) => formatDistance(km, units, options.language),
      volume: (litres: number) => formatVolume(litres, units),
    };
  }, [preferences, i18n.language]);
}

/** Returns the current time, which changes once a second while the component is visible. */
export function useNow(): number {
  const [nowMs, setNowMs] = useState(getServerTimeMs);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(getServerTimeMs()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
