import { Checkbox, Modal, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { useWebhookChanges, type Webhook, type WebhookForm } from './webhook-queries.ts';

interface WebhookEditorProps {
  /** Null: a new one. */
  readonly webhook: Webhook | null;
  readonly onClose: () => void;
  readonly onSecret: (secret: string) => void;
}

/** Creates or changes a webhook. Sending starts when it is saved. */
export function WebhookEditor({ webhook, onClose, onSecret }: WebhookEditorProps) {
  const { t } = useTranslation('profile');
  const { save } = useWebhookChanges();
  const form = useForm<WebhookForm>({
    initialValues: {
      url: webhook?.url ?? '',
      name: webhook?.name ?? '',
      secret: '',
      enabled: webhook?.enabled ?? true,
    },
  });
  const submit = form.onSubmit((values) =>
    save.mutate(
      { webhook, form: values },
      {
        onSuccess: (secret) => {
          // A secret that the user typed is known to the user.
          if (secret !== null && values.secret === '') onSecret(secret);
          onClose();
        },
        onError: (error) => form.setErrors(toFieldErrors(error)),
      },
    ),
  );
  const isFieldFault = save.isError && Object.keys(toFieldErrors(save.error)).length > 0;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t(webhook === null ? 'webhooks.add' : 'webhooks.edit')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={submit}>
        <Stack>
          {save.isError && !isFieldFault ? <Failure error={save.error} /> : null}
          <TextInput label={t('webhooks.url')} type="url" required {...form.getInputProps('url')} />
          <PasswordInput
            label={t('webhooks.secret')}
            description={t('webhooks.secretHint')}
            autoComplete="off"
            {...form.getInputProps('secret')}
          />
          <TextInput label={t('webhooks.name')} maxLength={100} {...form.getInputProps('name')} />
          <Checkbox label={t('webhooks.enabled')} {...form.getInputProps('enabled', { type: 'checkbox' })} />
          <FormButtons isSaving={save.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
