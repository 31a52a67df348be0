import { Drawer, NativeSelect, PasswordInput, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useFormErrors } from '../../../common/forms/use-form-errors.ts';
import { useIdempotencyKey } from '../../../common/forms/use-idempotency-key.ts';
import { useMe } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import { type PartnerForm, toBody, toForm } from '../partner-form.ts';
import { type Partner, type PartnerWithToken, usePartnerChanges } from '../queries.ts';
import { DeleteRecord } from './delete-record.tsx';

interface PartnerEditorProps {
  /** Null for a new partner. */
  readonly partner: Partner | null;
  readonly onCreated: (partner: PartnerWithToken) => void;
  readonly onClose: () => void;
}

/** Adds a partner, or edits and deletes one. */
export function PartnerEditor({ partner, onCreated, onClose }: PartnerEditorProps) {
  const { t } = useTranslation('devices');
  const { role } = useMe();
  const keyOf = useIdempotencyKey();
  const findErrors = useFormErrors(partner === null ? 'createPartner' : 'updatePartner');
  const { create, update, remove } = usePartnerChanges();
  const form = useForm<PartnerForm>({
    initialValues: toForm(partner),
    validate: (values) => findErrors(toBody(values, partner)),
  });
  const onError = (error: Error): void => form.setErrors(toFieldErrors(error));
  const submit = form.onSubmit((values) => {
    const body = toBody(values, partner);
    if (partner !== null) return update.mutate({ partner, body }, { onSuccess: onClose, onError });
    create.mutate(
      { key: keyOf(body), body },
      {
        onSuccess: (created) => {
          if (created !== undefined) onCreated(created);
          onClose();
        },
        onError,
      },
    );
  });
  const failed = [create, update].find(({ error }) => error !== null && Object.keys(toFieldErrors(error)).length === 0);
  // Only owners may change what partners send to terminals.
  const mayChangeLevel = role === 'owner' || role === 'superadmin';
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      title={partner === null ? t('partners.add') : t('editOf', { name: partner.name })}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={submit} noValidate>
        <Stack gap="sm">
          <TextInput data-autofocus label={t('partners.column.name')} required {...form.getInputProps('name')} />
          <Textarea
            label={t('partners.column.prefixes')}
            description={t('partners.listHint')}
            rows={2}
            {...form.getInputProps('imei_prefixes')}
          />
          <Textarea
            label={t('partners.column.addresses')}
            description={t('partners.listHint')}
            rows={2}
            {...form.getInputProps('ip_allowlist')}
          />
          <TextInput
            label={t('partners.column.commandUrl')}
            description={t('partners.urlHint')}
            inputMode="url"
            {...form.getInputProps('command_url')}
          />
          <PasswordInput
            label={t('partners.commandToken')}
            description={partner?.has_command_token === true ? t('partners.tokenStored') : undefined}
            autoComplete="off"
            visibilityToggleButtonProps={{ 'aria-label': t('partners.showToken') }}
            {...form.getInputProps('command_token')}
          />
          {mayChangeLevel ? (
            <>
              <NativeSelect
                label={t('partners.column.level')}
                data={(['none', 'standard', 'critical'] as const).map((value) => ({
                  value,
                  label: t(`partners.level.${value}`),
                }))}
                {...form.getInputProps('command_level')}
              />
              {form.values.command_level === (partner?.command_level ?? 'standard') ? null : (
                <TextInput
                  label={t('partners.code')}
                  description={t('partners.codeHint')}
                  inputMode="numeric"
                  autoComplete="one-time-code"
                  {...form.getInputProps('code')}
                />
              )}
            </>
          ) : null}
          {failed?.error == null ? null : <Failure error={failed.error} />}
          <FormButtons isSaving={create.isPending || update.isPending} onCancel={onClose} />
        </Stack>
      </form>
      {partner === null ? null : (
        <DeleteRecord
          text={t('partners.deleteText')}
          error={remove.error}
          isRunning={remove.isPending}
          onDelete={() => remove.mutate(partner, { onSuccess: onClose })}
        />
      )}
    </Drawer>
  );
}
