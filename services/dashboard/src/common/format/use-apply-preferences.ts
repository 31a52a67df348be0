import { useMantineColorScheme } from '@mantine/core';
import { useEffect } from 'react';
import { changeLanguage } from '../i18n/i18n.ts';
import { usePreferences } from './preferences-context.ts';

/** Switches the page to the language, the theme, the density and the unit of the user, whenever they change. */
export function useApplyPreferences(): void {
  const preferences = usePreferences();
  const { setColorScheme } = useMantineColorScheme();
  const { language, theme, dashboard } = preferences ?? {};
  const density = dashboard?.['density'] === 'comfortable' ? 'comfortable' : 'compact';
  const distanceUnit = preferences?.distance_unit === 'mi' ? 'mi' : 'km';
  useEffect(() => {
    document.documentElement.dataset['density'] = density;
  }, [density]);
  useEffect(() => {
    document.documentElement.dataset['distanceUnit'] = distanceUnit;
  }, [distanceUnit]);
  useEffect(() => {
    if (language !== undefined) void changeLanguage(language);
  }, [language]);
  useEffect(() => {
    if (theme !== undefined) setColorScheme(theme === 'light' || theme === 'dark' ? theme : 'auto');
  }, [theme, setColorScheme]);
}
