import { Checkbox, NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { ColorField } from '../places/color-field.tsx';
import { ScheduleFields } from '../places/schedule-fields.tsx';
import { type RouteForm, routeEvents } from './model.ts';

const profiles = ['car', 'truck'] as const;

/** Name, events and limits of a route. */
export function RouteFields({ form }: { form: UseFormReturnType<RouteForm> }) {
  const { t } = useTranslation('routes');
  const { values } = form;
  return (
    <>
      <section aria-label={t('record')}>
        <TextInput label={t('field.name')} required maxLength={100} {...form.getInputProps('name')} />
        <ColorField value={values.color} onChange={(color) => form.setFieldValue('color', color)} />
        <Textarea label={t('field.description')} autosize maxLength={1_000} {...form.getInputProps('description')} />
        <NativeSelect
          label={t('field.profile')}
          data={profiles.map((value) => ({ value, label: t(`profile.${value}`) }))}
          {...form.getInputProps('profile')}
        />
        <Checkbox label={t('field.active')} {...form.getInputProps('active', { type: 'checkbox' })} />
      </section>
      <section aria-label={t('rules')}>
        <h3>{t('rules')}</h3>
        <TextInput label={t('field.deviation_m')} inputMode="numeric" {...form.getInputProps('deviation_m')} />
        <fieldset className="places-choices">
          <legend>{t('field.notify_on')}</legend>
          {routeEvents.map((event) => (
            <Checkbox
              key={event}
              label={t(`event.${event}`)}
              checked={values.notify_on.includes(event)}
              onChange={({ currentTarget: { checked } }) =>
                form.setFieldValue(
                  'notify_on',
                  routeEvents.filter((each) => (each === event ? checked : values.notify_on.includes(each))),
                )
              }
            />
          ))}
        </fieldset>
        <TextInput label={t('field.speed_limit_kmh')} inputMode="numeric" {...form.getInputProps('speed_limit_kmh')} />
        <ScheduleFields
          value={values.schedule}
          error={form.errors['schedule']}
          onChange={(schedule) => form.setFieldValue('schedule', schedule)}
        />
      </section>
    </>
  );
}
