import { useMantineColorScheme } from '@mantine/core';
import { useEffect } from 'react';
import { changeLanguage } from '../i18n/i18n.ts';
import { usePreferences } from './preferences-context.ts';

/** Switches the page to the language and the theme of the user, whenever they change. */
export function useApplyPreferences(): void {
  const preferences = usePreferences();
  const { setColorScheme } = useMantineColorScheme();
  const { language, theme } = preferences ?? {};
  useEffect(() => {
    if (language !== undefined) void changeLanguage(language);
  }, [language]);
  useEffect(() => {
    if (theme !== undefined) setColorScheme(theme === 'light' || theme === 'dark' ? theme : 'auto');
  }, [theme, setColorScheme]);
}
