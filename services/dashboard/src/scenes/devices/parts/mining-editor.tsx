import { NativeSelect, TextInput } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { changedFields } from '../../../common/forms/changed-fields.ts';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { RecordConflict } from '../../../common/forms/record-conflict.tsx';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { type MiningForm, miningTextFields, toMiningBody, toMiningForm } from '../mining-form.ts';
import { type MiningDevice, miningStatuses, useRemoveMiningDevice, useSaveMiningDevice } from '../queries.ts';
import { DeleteRecord } from './delete-record.tsx';
import { EditorDrawer } from './editor-drawer.tsx';

type Form = UseFormReturnType<MiningForm>;

/** Adds a mining device, or edits and deletes one. */
export function MiningEditor({ device, onClose }: { device: MiningDevice | null; onClose: () => void }) {
  const { t } = useTranslation('devices');
  const [base, setBase] = useState(device);
  const findErrors = useFormErrors(device === null ? 'createMiningDevice' : 'updateMiningDevice');
  const { save, stored, discard } = useSaveMiningDevice(device, onClose);
  const before = toMiningBody(toMiningForm(base));
  const form = useForm<MiningForm>({
    initialValues: toMiningForm(device),
    validate: (values) =>
      findErrors(device === null ? { ...toMiningBody(values), imei: values.imei } : toMiningBody(values)),
  });
  const saveOver = (version: number): void => {
    const body = toMiningBody(form.values);
    const sent = device === null ? { ...body, imei: form.values.imei.trim() } : changedFields(before, body);
    const onError = (error: Error): void => form.setErrors(toFieldErrors(error));
    save.mutate({ body: sent, version }, { onError });
  };
  const takeTheirs = (theirs: MiningDevice): void => {
    setBase(theirs);
    form.setValues(toMiningForm(theirs));
    discard();
  };
  return (
    <EditorDrawer
      title={device === null ? t('mining.add') : t('editOf', { name: device.imei })}
      error={save.error}
      conflict={
        stored === null ? null : (
          <MiningConflict
            before={before}
            mine={toMiningBody(form.values)}
            theirs={toMiningBody(toMiningForm(stored))}
            isSaving={save.isPending}
            onKeepMine={() => saveOver(stored.version)}
            onTakeTheirs={() => takeTheirs(stored)}
          />
        )
      }
      deletion={base === null ? null : <MiningDeletion device={base} onClose={onClose} />}
      isSaving={save.isPending}
      onSubmit={form.onSubmit(() => saveOver(base?.version ?? 0))}
      onClose={onClose}
    >
      <MiningFields form={form} isNew={device === null} />
    </EditorDrawer>
  );
}

function MiningFields({ form, isNew }: { form: Form; isNew: boolean }) {
  const { t } = useTranslation('devices');
  return (
    <>
      {isNew ? (
        <TextInput
          data-autofocus
          label={t('mining.field.imei')}
          description={t('mining.numberHint')}
          required
          inputMode="numeric"
          {...form.getInputProps('imei')}
        />
      ) : null}
      {miningTextFields.map((field, index) => (
        <TextInput
          key={field}
          {...(!isNew && index === 0 ? { 'data-autofocus': true } : {})}
          label={t(`mining.field.${field}`)}
          {...form.getInputProps(field)}
        />
      ))}
      <NativeSelect
        label={t('mining.field.status')}
        data={miningStatuses.map((value) => ({ value, label: t(`mining.status.${value}`) }))}
        {...form.getInputProps('status')}
      />
    </>
  );
}

type Body = ReturnType<typeof toMiningBody>;

interface MiningConflictProps {
  readonly before: Body;
  readonly mine: Body;
  readonly theirs: Body;
  readonly isSaving: boolean;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

/** Shows the fields that one of both versions has changed. */
function MiningConflict({ before, mine, theirs, ...actions }: MiningConflictProps) {
  const { t } = useTranslation('devices');
  const changed = { ...changedFields(before, mine), ...changedFields(before, theirs) };
  const show = (field: keyof Body, body: Body): string =>
    field === 'status' ? t(`mining.status.${body.status}`) : (body[field] ?? '');
  const rows = ([...miningTextFields, 'status'] as const)
    .filter((field) => field in changed)
    .map((field) => ({ label: t(`mining.field.${field}`), mine: show(field, mine), theirs: show(field, theirs) }));
  return <RecordConflict rows={rows} {...actions} />;
}

function MiningDeletion({ device, onClose }: { device: MiningDevice; onClose: () => void }) {
  const { t } = useTranslation('devices');
  const remove = useRemoveMiningDevice();
  return (
    <DeleteRecord
      text={t('mining.deleteText')}
      error={remove.error}
      isRunning={remove.isPending}
      onDelete={() => remove.mutate(device, { onSuccess: onClose })}
    />
  );
}
