import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import { useDrivers } from '../../../common/fleet/queries.ts';
import { useGeofences } from '../../../common/geofences/queries.ts';
import { ColorField } from '../../../common/places/color-field.tsx';
import { RecordSelect } from '../../../common/places/record-select.tsx';
import type { GroupForm } from '../model.ts';
import { useGroupOptions } from '../use-group-options.ts';

interface GroupFieldsProps {
  readonly form: UseFormReturnType<GroupForm>;
  /** Groups that can contain this one. */
  readonly parents: readonly NamedGroup[];
}

export function GroupFields({ form, parents }: GroupFieldsProps) {
  const { t } = useTranslation('groups');
  const { data: geofences = [] } = useGeofences();
  const { data: drivers = [] } = useDrivers();
  const { values } = form;
  return (
    <>
      <TextInput label={t('field.name')} required maxLength={100} {...form.getInputProps('name')} />
      <NativeSelect
        label={t('field.parent_group')}
        data={useGroupOptions(parents)}
        {...form.getInputProps('parent_group')}
      />
      <ColorField value={values.color} onChange={(color) => form.setFieldValue('color', color)} />
      <Textarea label={t('field.description')} autosize maxLength={1_000} {...form.getInputProps('description')} />
      <RecordSelect
        label={t('field.geofences')}
        description={t('geofencesHint')}
        records={geofences.map(({ id, name }) => ({ id, label: name }))}
        value={values.geofences}
        error={form.errors['geofences']}
        onChange={(ids) => form.setFieldValue('geofences', ids)}
      />
      <RecordSelect
        label={t('field.drivers')}
        records={drivers.map(({ id, name }) => ({ id, label: name }))}
        value={values.drivers}
        error={form.errors['drivers']}
        onChange={(ids) => form.setFieldValue('drivers', ids)}
      />
    </>
  );
}
