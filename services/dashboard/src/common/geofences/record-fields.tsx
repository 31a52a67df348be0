import { Checkbox, Text, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useGroups, useVehicles } from '../fleet/queries.ts';
import { ColorField } from '../places/color-field.tsx';
import { RecordSelect } from '../places/record-select.tsx';
import { ScheduleFields } from '../places/schedule-fields.tsx';
import { type GeofenceForm, geofenceEvents } from './model.ts';

type Form = UseFormReturnType<GeofenceForm>;

/** Shows name, events and times of a geofence. */
export function RecordFields({ form }: { form: Form }) {
  const { t } = useTranslation('geofences');
  const { values } = form;
  return (
    <>
      <section aria-label={t('record')}>
        <TextInput label={t('field.name')} required maxLength={100} data-autofocus {...form.getInputProps('name')} />
        <ColorField value={values.color} onChange={(color) => form.setFieldValue('color', color)} />
        <Textarea label={t('field.description')} autosize maxLength={1_000} {...form.getInputProps('description')} />
      </section>
      <section aria-label={t('rules')}>
        <h3>{t('rules')}</h3>
        <fieldset className="places-choices">
          <legend>{t('field.notify_on')}</legend>
          {geofenceEvents.map((event) => (
            <Checkbox
              key={event}
              label={t(`event.${event}`)}
              checked={values.notify_on.includes(event)}
              onChange={({ currentTarget: { checked } }) =>
                form.setFieldValue(
                  'notify_on',
                  geofenceEvents.filter((each) => (each === event ? checked : values.notify_on.includes(each))),
                )
              }
            />
          ))}
        </fieldset>
        {values.notify_on.includes('dwell') ? (
          <TextInput label={t('field.dwell_seconds')} inputMode="numeric" {...form.getInputProps('dwell_minutes')} />
        ) : null}
        <TextInput label={t('field.speed_limit_kmh')} inputMode="numeric" {...form.getInputProps('speed_limit_kmh')} />
        <ScheduleFields
          value={values.schedule}
          error={form.errors['schedule']}
          onChange={(schedule) => form.setFieldValue('schedule', schedule)}
        />
      </section>
      <Assignment form={form} />
    </>
  );
}

/** Vehicles, groups and terminals. */
function Assignment({ form }: { form: Form }) {
  const { t } = useTranslation('geofences');
  const { data: vehicles = [] } = useVehicles();
  const { data: groups = [] } = useGroups();
  const { values } = form;
  const isForAll = values.vehicles.length === 0 && values.groups.length === 0;
  return (
    <section aria-label={t('assignment')}>
      <h3>{t('assignment')}</h3>
      {isForAll ? <Text size="sm">{t('allVehicles')}</Text> : null}
      <RecordSelect
        label={t('field.vehicles')}
        records={vehicles
          .filter(({ access }) => access === 'owner')
          .map(({ id, vehicle_no: number, name }) => ({ id, label: name === number ? number : `${number} ${name}` }))}
        value={values.vehicles}
        error={form.errors['vehicles']}
        onChange={(ids) => form.setFieldValue('vehicles', ids)}
      />
      <RecordSelect
        label={t('field.groups')}
        records={groups.map(({ id, name }) => ({ id, label: name }))}
        value={values.groups}
        error={form.errors['groups']}
        onChange={(ids) => form.setFieldValue('groups', ids)}
      />
      <Checkbox
        label={t('field.push_to_terminal')}
        description={t('terminalHint')}
        {...form.getInputProps('push_to_terminal', { type: 'checkbox' })}
      />
    </section>
  );
}
