import { ApiFailure } from '@fleet/api-client';
import { Button, Group, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { useLeaveWarning } from '../../../common/forms/use-leave-warning.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { Conflict } from './conflict.tsx';
import { findChangedFields, toChange, toForm, type VehicleForm } from './model.ts';
import { RecordFields } from './record-fields.tsx';
import { useSaveVehicle } from './use-save-vehicle.ts';

/** Edits the record of a vehicle. Only changed fields are sent, with the version that was loaded. */
export function RecordForm({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const findErrors = useFormErrors('updateVehicle');
  const [base, setBase] = useState(vehicle);
  const [isSaved, setIsSaved] = useState(false);
  const form = useForm<VehicleForm>({ initialValues: toForm(vehicle) });
  const load = (record: Vehicle): void => {
    setBase(record);
    form.setInitialValues(toForm(record));
    form.setValues(toForm(record));
    form.resetDirty();
  };
  const { save, stored, discard } = useSaveVehicle(vehicle.id, (record) => {
    load(record);
    setIsSaved(true);
  });
  const isChanged = findChangedFields(toForm(base), form.values).length > 0;
  useLeaveWarning(isChanged && !save.isPending);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const body = toChange(toForm(base), form.values);
    const errors = findErrors(body);
    form.setErrors(errors);
    setIsSaved(false);
    const [first] = Object.keys(errors);
    if (first !== undefined) return form.getInputNode(first)?.focus();
    save.mutate({ body, version: base.version }, { onError: (error) => form.setErrors(toFieldErrors(error)) });
  };
  return (
    <form onSubmit={submit} aria-label={t('settings.record')} noValidate>
      <Stack gap="md">
        <RecordFields form={form} />
        <SaveFailure error={save.error} draft={form.values} />
        {stored === null ? null : (
          <Conflict
            base={toForm(base)}
            mine={form.values}
            theirs={toForm(stored)}
            isSaving={save.isPending}
            onKeepMine={() => save.mutate({ body: toChange(toForm(base), form.values), version: stored.version })}
            onTakeTheirs={() => {
              load(stored);
              discard();
              save.reset();
            }}
          />
        )}
        <Group gap="sm">
          <Button type="submit" disabled={!isChanged} loading={save.isPending}>
            {t('common:action.save')}
          </Button>
          {isSaved && !isChanged ? <Text role="status">{t('common:form.saved')}</Text> : null}
        </Group>
      </Stack>
    </form>
  );
}

/** Shows a failure that belongs to no field. A record that was deleted elsewhere leaves its text for copying. */
function SaveFailure({ error, draft }: { error: Error | null; draft: VehicleForm }) {
  const { t } = useTranslation('vehicle');
  if (error === null) return null;
  if (!(error instanceof ApiFailure)) return <Failure error={error} />;
  if (error.status === 412 || Object.keys(toFieldErrors(error)).length > 0) return null;
  return (
    <Stack gap="xs">
      <Failure error={error} />
      {error.status === 404 ? (
        <label className="vehicle-draft">
          {t('settings.draft')}
          <textarea readOnly rows={6} value={JSON.stringify(draft, null, 2)} />
        </label>
      ) : null}
    </Stack>
  );
}
