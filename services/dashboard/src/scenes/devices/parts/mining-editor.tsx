import { Drawer, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { useIdempotencyKey } from '../../../common/forms/use-idempotency-key.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type MiningDevice, miningStatuses, useMiningChanges } from '../queries.ts';
import { DeleteRecord } from './delete-record.tsx';

const textFields = ['vehicle_no', 'permit_no', 'site', 'owner_name'] as const;
type MiningForm = Readonly<Record<(typeof textFields)[number] | 'imei' | 'status', string>>;

const toForm = (device: MiningDevice | null): MiningForm => ({
  imei: device?.imei ?? '',
  vehicle_no: device?.vehicle_no ?? '',
  permit_no: device?.permit_no ?? '',
  site: device?.site ?? '',
  owner_name: device?.owner_name ?? '',
  status: device?.status ?? 'pending',
});

/** An empty text is an absent value. */
const toBody = (form: MiningForm): Record<string, unknown> => ({
  ...Object.fromEntries(textFields.map((field) => [field, form[field].trim() === '' ? null : form[field].trim()])),
  status: form.status,
});

/** Adds a mining device, or edits and deletes one. */
export function MiningEditor({ device, onClose }: { device: MiningDevice | null; onClose: () => void }) {
  const { t } = useTranslation('devices');
  const keyOf = useIdempotencyKey();
  const findErrors = useFormErrors(device === null ? 'createMiningDevice' : 'updateMiningDevice');
  const { create, update, remove } = useMiningChanges();
  const form = useForm<MiningForm>({
    initialValues: toForm(device),
    validate: (values) => findErrors(device === null ? { ...toBody(values), imei: values.imei } : toBody(values)),
  });
  const callbacks = { onSuccess: onClose, onError: (error: Error) => form.setErrors(toFieldErrors(error)) };
  const submit = form.onSubmit((values) => {
    const body = { ...toBody(values), imei: values.imei.trim() };
    if (device === null) create.mutate({ key: keyOf(body), body }, callbacks);
    else update.mutate({ device, body: toBody(values) }, callbacks);
  });
  const failed = [create, update].find(({ error }) => error !== null && Object.keys(toFieldErrors(error)).length === 0);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      title={device === null ? t('mining.add') : t('editOf', { name: device.imei })}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          {device === null ? (
            <TextInput
              data-autofocus
              label={t('mining.field.imei')}
              description={t('mining.numberHint')}
              required
              inputMode="numeric"
              {...form.getInputProps('imei')}
            />
          ) : null}
          {textFields.map((field, index) => (
            <TextInput
              key={field}
              {...(device !== null && index === 0 ? { 'data-autofocus': true } : {})}
              label={t(`mining.field.${field}`)}
              {...form.getInputProps(field)}
            />
          ))}
          <NativeSelect
            label={t('mining.field.status')}
            data={miningStatuses.map((value) => ({ value, label: t(`mining.status.${value}`) }))}
            {...form.getInputProps('status')}
          />
          {failed?.error == null ? null : <Failure error={failed.error} />}
          <FormButtons isSaving={create.isPending || update.isPending} onCancel={onClose} />
        </Stack>
      </form>
      {device === null ? null : (
        <DeleteRecord
          text={t('mining.deleteText')}
          error={remove.error}
          isRunning={remove.isPending}
          onDelete={() => remove.mutate(device, { onSuccess: onClose })}
        />
      )}
    </Drawer>
  );
}
