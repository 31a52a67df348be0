import { Modal, SegmentedControl, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { useRegenerateSecret, type Webhook } from './queries.ts';
import { SecretField } from './secret-field.tsx';
import type { NewSecret } from './secret-once.tsx';

const graceHours = [0, 24, 72] as const;
const defaultGraceHours = 24;

interface RegenerateDialogProps {
  readonly webhook: Webhook;
  readonly onClose: () => void;
  readonly onSecret: (secret: NewSecret) => void;
}

/** Replaces the secret of a webhook. The old one stays valid for the grace period. */
export function RegenerateDialog({ webhook, onClose, onSecret }: RegenerateDialogProps) {
  const { t } = useTranslation('profile');
  const regenerate = useRegenerateSecret();
  const form = useForm({ initialValues: { grace: String(defaultGraceHours), secret: '' } });
  const submit = form.onSubmit(({ grace, secret }) => {
    const request = { id: webhook.id, grace_hours: Number(grace), ...(secret === '' ? {} : { secret }) };
    regenerate.mutate(request, {
      onSuccess: (created) => {
        onClose();
        if (created !== null) onSecret({ webhook, secret: created });
      },
      onError: (error) => form.setErrors(toFieldErrors(error)),
    });
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('webhooks.regenerate')}
      size="lg"
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={submit}>
        <Stack>
          {regenerate.isError ? <Failure error={regenerate.error} /> : null}
          <Text>{t('webhooks.regenerateHint', { hint: webhook.secret_hint })}</Text>
          <SegmentedControl
            aria-label={t('webhooks.grace')}
            data={graceHours.map((hours) => ({ value: String(hours), label: t('webhooks.graceHours', { hours }) }))}
            {...form.getInputProps('grace')}
          />
          <SecretField {...form.getInputProps('secret')} />
          <FormButtons isSaving={regenerate.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
