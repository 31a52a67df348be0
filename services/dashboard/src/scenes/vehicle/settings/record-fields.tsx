import { Checkbox, NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useDrivers, useGroups } from '../../../common/fleet/queries.ts';
import { listTimeZones } from '../../../common/format/time-zones.ts';
import { fuelTypes, numberFields, textFields, type VehicleForm, vehicleTypes } from './model.ts';

type Form = UseFormReturnType<VehicleForm>;

/** Shows the cards of the record: identity, properties, assignment and cameras. */
export function RecordFields({ form }: { form: Form }) {
  const { t } = useTranslation('vehicle');
  return (
    <>
      <section className="card" aria-label={t('settings.record')}>
        <h2>{t('settings.record')}</h2>
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} spacing="md">
          {textFields.map((field) => (
            <TextInput
              key={field}
              label={t(`field.${field}`)}
              description={field === 'imei' ? t('settings.terminalHint') : undefined}
              required={field === 'vehicle_no'}
              inputMode={field === 'imei' ? 'numeric' : undefined}
              {...form.getInputProps(field)}
            />
          ))}
          <NativeSelect
            label={t('field.vehicle_type')}
            data={vehicleTypes.map((value) => ({ value, label: t(`type.${value}`) }))}
            {...form.getInputProps('vehicle_type')}
          />
          <NativeSelect
            label={t('field.fuel_type')}
            data={[{ value: '', label: '–' }, ...fuelTypes.map((value) => ({ value, label: t(`fuel.${value}`) }))]}
            {...form.getInputProps('fuel_type')}
          />
          {numberFields.map((field) => (
            <TextInput key={field} label={t(`field.${field}`)} inputMode="decimal" {...form.getInputProps(field)} />
          ))}
          <NativeSelect
            label={t('field.timezone')}
            data={listTimeZones(form.values.timezone)}
            {...form.getInputProps('timezone')}
          />
          <TextInput
            label={t('field.camera_utc_offset')}
            description={t('settings.offsetHint')}
            {...form.getInputProps('camera_utc_offset')}
          />
        </SimpleGrid>
      </section>
      <Assignment form={form} />
      <Cameras form={form} />
    </>
  );
}

function Assignment({ form }: { form: Form }) {
  const { t } = useTranslation('vehicle');
  const { data: drivers = [] } = useDrivers();
  const { data: groups = [] } = useGroups();
  const chosen = form.values.group_ids;
  return (
    <section className="card" aria-label={t('settings.assignment')}>
      <h2>{t('settings.assignment')}</h2>
      <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md">
        <NativeSelect
          label={t('field.driver_id')}
          data={[{ value: '', label: '–' }, ...drivers.map(({ id, name }) => ({ value: String(id), label: name }))]}
          {...form.getInputProps('driver_id')}
        />
        <fieldset className="vehicle-choices">
          <legend>{t('field.group_ids')}</legend>
          {groups.length === 0 ? <p>{t('settings.noGroups')}</p> : null}
          {groups.map(({ id, name }) => (
            <Checkbox
              key={id}
              label={name}
              checked={chosen.includes(id)}
              onChange={({ currentTarget }) =>
                form.setFieldValue(
                  'group_ids',
                  currentTarget.checked ? [...chosen, id] : chosen.filter((other) => other !== id),
                )
              }
            />
          ))}
        </fieldset>
      </SimpleGrid>
    </section>
  );
}

/** Cameras are filled from the response of the terminal; here they get names. */
function Cameras({ form }: { form: Form }) {
  const { t } = useTranslation('vehicle');
  const { channels } = form.values;
  return (
    <section className="card" aria-label={t('cameras')}>
      <h2>{t('cameras')}</h2>
      {channels.length === 0 ? <p>{t('settings.noCameras')}</p> : null}
      {channels.map(({ channel_id: channelId }, index) => (
        <div key={channelId} className="vehicle-camera">
          <TextInput
            label={t('settings.camera', { number: channelId })}
            maxLength={100}
            {...form.getInputProps(`channels.${index}.name`)}
          />
          <Checkbox
            label={t('settings.enabled')}
            {...form.getInputProps(`channels.${index}.enabled`, { type: 'checkbox' })}
          />
          <Checkbox
            label={t('settings.hasAudio')}
            {...form.getInputProps(`channels.${index}.has_audio`, { type: 'checkbox' })}
          />
        </div>
      ))}
    </section>
  );
}
