import type { components } from '@fleet/api-client';
import { Checkbox, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { usePreferences } from '../format/preferences-context.ts';
import { listTimeZones } from '../format/time-zones.ts';

export type Schedule = components['schemas']['Schedule'];

interface ScheduleFieldsProps {
  /** Null is always. */
  readonly value: Schedule | null;
  readonly error?: React.ReactNode;
  readonly onChange: (schedule: Schedule | null) => void;
}

const weekdays = [1, 2, 3, 4, 5, 6, 7] as const;
const minuteOf = (clock: string): string => (clock === '24:00' ? '00:00' : clock);

/** Returns the name of a day; 1 is Monday. */
const nameOfDay = (day: number, language: string): string =>
  // 1 January 2024 was a Monday.
  new Intl.DateTimeFormat(language, { weekday: 'short', timeZone: 'UTC' }).format(Date.UTC(2024, 0, day));

/** Returns a schedule as one line; an empty text for none. */
export const describeSchedule = (schedule: Schedule | null, language: string): string =>
  schedule === null
    ? ''
    : `${schedule.days.map((day) => nameOfDay(day, language)).join(', ')} ${schedule.from}–${schedule.to} ${schedule.timezone}`;

/** Restricts a place to certain days and times. */
export function ScheduleFields({ value, error, onChange }: ScheduleFieldsProps) {
  const { t, i18n } = useTranslation('places');
  const timezone = usePreferences()?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <Stack gap="sm">
      <Checkbox
        label={t('schedule.limited')}
        checked={value !== null}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.checked ? { timezone, days: [1, 2, 3, 4, 5], from: '08:00', to: '18:00' } : null)
        }
      />
      {value === null ? null : (
        <>
          <fieldset className="places-days">
            <legend>{t('schedule.days')}</legend>
            {weekdays.map((day) => (
              <Checkbox
                key={day}
                label={nameOfDay(day, i18n.language)}
                checked={value.days.includes(day)}
                onChange={({ currentTarget }) =>
                  onChange({
                    ...value,
                    days: weekdays.filter((each) => (each === day ? currentTarget.checked : value.days.includes(each))),
                  })
                }
              />
            ))}
          </fieldset>
          <Group gap="sm" grow>
            {(['from', 'to'] as const).map((end) => (
              <TextInput
                key={end}
                type="time"
                label={t(`schedule.${end}`)}
                value={minuteOf(value[end])}
                onChange={({ currentTarget }) => onChange({ ...value, [end]: currentTarget.value })}
              />
            ))}
          </Group>
          <NativeSelect
            label={t('schedule.zone')}
            data={listTimeZones(value.timezone)}
            value={value.timezone}
            onChange={({ currentTarget }) => onChange({ ...value, timezone: currentTarget.value })}
          />
        </>
      )}
      {error === undefined || error === null ? null : (
        <Text size="sm" c="critical" role="alert">
          {error}
        </Text>
      )}
    </Stack>
  );
}
