import { Drawer, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Driver } from '../../../common/fleet/vehicle.ts';
import { isVersionMismatch, toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { type ConflictRow, RecordConflict } from '../../../common/forms/record-conflict.tsx';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type DriverForm, findChangedFields, toChange, toForm, toFormErrors } from '../model.ts';
import { useSaveDriver, useStoreDocument } from '../queries.ts';
import { useDocumentReading } from '../use-document-reading.ts';
import { DriverFields } from './driver-fields.tsx';
import { ReadDocument } from './read-document.tsx';

/** Edits a driver. Only changed fields are sent, with the version that was loaded. */
export function EditDriver({ driver, onClose }: { driver: Driver; onClose: () => void }) {
  const { t } = useTranslation('drivers');
  const [base, setBase] = useState(driver);
  const findErrors = useFormErrors('updateDriver');
  const form = useForm<DriverForm>({ initialValues: toForm(driver) });
  const reading = useDocumentReading(form);
  const store = useStoreDocument();
  const { save, stored, discard } = useSaveDriver(driver.id);
  const send = async (version: number): Promise<void> => {
    const body = toChange(toForm(base), form.values);
    const document = reading.kept;
    const saved = Object.keys(body).length > 0 ? await save.mutateAsync({ body, version }) : undefined;
    // A file that could not be stored is sent again with the saved record.
    if (saved !== undefined) setBase(saved);
    if (document !== null) await store.mutateAsync({ driverId: driver.id, document });
    onClose();
  };
  // The mutations show their own failures.
  const start = (version: number): void => void send(version).catch(showFaults);
  const showFaults = (error: unknown): void => form.setErrors(toFormErrors(toFieldErrors(error)));
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const errors = toFormErrors(findErrors(toChange(toForm(base), form.values)));
    form.setErrors(errors);
    const [first] = Object.keys(errors);
    if (first === undefined) start(base.version);
    else form.getInputNode(first)?.focus();
  };
  const takeTheirs = (record: Driver): void => {
    setBase(record);
    form.setValues(toForm(record));
    discard();
    save.reset();
  };
  const failed = [save, store].find(({ error }) => error !== null && !hasOwnView(error));
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={t('editOf', { name: driver.name })}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={submit} noValidate>
        <Stack>
          <ReadDocument reading={reading} />
          <DriverFields form={form} read={reading.fields} />
          {failed === undefined ? null : <Failure error={failed.error} />}
          {stored === null ? null : (
            <RecordConflict
              rows={toRows(base, form.values, stored, (field) => t(`field.${field}`))}
              isSaving={save.isPending}
              onKeepMine={() => start(stored.version)}
              onTakeTheirs={() => takeTheirs(stored)}
            />
          )}
          <FormButtons isSaving={save.isPending || store.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Drawer>
  );
}

/** A conflict has its own view, and a fault of a field stands below it. */
const hasOwnView = (error: Error): boolean => isVersionMismatch(error) || Object.keys(toFieldErrors(error)).length > 0;

/** Returns both versions of each field that one of them changed. */
function toRows(
  base: Driver,
  mine: DriverForm,
  stored: Driver,
  labelOf: (field: keyof DriverForm) => string,
): ConflictRow[] {
  const [from, theirs] = [toForm(base), toForm(stored)];
  const changed = new Set([...findChangedFields(from, mine), ...findChangedFields(from, theirs)]);
  return [...changed].map((field) => ({ label: labelOf(field), mine: mine[field], theirs: theirs[field] }));
}
