import { NativeSelect, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { type Preferences, usePreferences } from '../../../common/format/preferences-context.ts';
import { listTimeZones } from '../../../common/format/time-zones.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure, Loading } from '../../../common/ui/states.tsx';

const languageNames = [
  { value: 'en', label: 'English' },
  { value: 'zh', label: '中文' },
  { value: 'es', label: 'Español' },
];

type Change = Partial<
  Pick<
    Preferences,
    'language' | 'theme' | 'distance_unit' | 'speed_unit' | 'volume_unit' | 'time_format' | 'timezone' | 'dashboard'
  >
>;

/** Shows language, theme, units and zone. Each choice is saved at once and applies to the whole page. */
export function PreferencesTab() {
  const { t } = useTranslation('profile');
  const { api } = useSession();
  const queries = useQueryClient();
  const preferences = usePreferences();
  const save = useMutation({
    mutationFn: (body: Change) => api.PUT('/api/user-preferences/me', { body: body as never }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['getPreferences'] }),
  });
  if (preferences === undefined) return <Loading />;
  const field = (
    name: Exclude<keyof Change, 'dashboard'>,
    label: string,
    data: readonly (string | { value: string; label: string })[],
  ) => (
    <NativeSelect
      label={label}
      data={[...data]}
      value={preferences[name]}
      onChange={({ currentTarget }) => save.mutate({ [name]: currentTarget.value })}
    />
  );
  return (
    <Stack maw={360}>
      {save.isError ? <Failure error={save.error} /> : null}
      {field('language', t('preferences.language'), languageNames)}
      {field(
        'theme',
        t('preferences.theme'),
        (['system', 'light', 'dark'] as const).map((value) => ({ value, label: t(`preferences.themes.${value}`) })),
      )}
      {field('distance_unit', t('preferences.distance'), ['km', 'mi'])}
      {field('speed_unit', t('preferences.speed'), [
        { value: 'kmh', label: 'km/h' },
        { value: 'mph', label: 'mph' },
        { value: 'kn', label: 'kn' },
      ])}
      {field('volume_unit', t('preferences.volume'), ['l', 'gal'])}
      {field('time_format', t('preferences.time'), [
        { value: '24h', label: '24 h' },
        { value: '12h', label: '12 h' },
      ])}
      {field('timezone', t('preferences.timezone'), listTimeZones(preferences.timezone))}
      <NativeSelect
        label={t('preferences.density')}
        data={(['compact', 'comfortable'] as const).map((value) => ({
          value,
          label: t(`preferences.densities.${value}`),
        }))}
        value={preferences.dashboard['density'] === 'comfortable' ? 'comfortable' : 'compact'}
        // Other pages keep their own values there.
        onChange={({ currentTarget }) =>
          save.mutate({ dashboard: { ...preferences.dashboard, density: currentTarget.value } })
        }
      />
      <Text role="status" size="sm">
        {save.isSuccess ? t('preferences.saved') : ''}
      </Text>
    </Stack>
  );
}
