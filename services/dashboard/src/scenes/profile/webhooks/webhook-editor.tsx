import { Checkbox, Drawer, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isVersionMismatch, toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { ChangedElsewhere } from './changed-elsewhere.tsx';
import { HeaderFields } from './header-fields.tsx';
import { type HeaderRow, toHeaderRows, toHeaders } from './model.ts';
import { useSaveWebhook, useWebhooks, type Webhook, type WebhookChange } from './queries.ts';
import { SecretField } from './secret-field.tsx';
import type { NewSecret } from './secret-once.tsx';
import { EventChoice, VehicleChoice } from './webhook-choices.tsx';

interface WebhookEditorProps {
  /** Null: a new one. */
  readonly webhook: Webhook | null;
  readonly onClose: () => void;
  readonly onSecret: (secret: NewSecret) => void;
}

interface FormValues {
  readonly url: string;
  readonly name: string;
  readonly secret: string;
  readonly enabled: boolean;
  readonly notification_types: string[];
  readonly vehicle_ids: number[];
  readonly headers: HeaderRow[];
}

const toFormValues = (webhook: Webhook | null): FormValues => ({
  url: webhook?.url ?? '',
  name: webhook?.name ?? '',
  secret: '',
  enabled: webhook?.enabled ?? true,
  notification_types: [...(webhook?.notification_types ?? [])],
  vehicle_ids: [...(webhook?.vehicle_ids ?? [])],
  headers: toHeaderRows(webhook?.headers ?? {}),
});

const toChange = ({ name, secret, headers, ...rest }: FormValues): WebhookChange => ({
  ...rest,
  name: name === '' ? null : name,
  headers: toHeaders(headers),
  ...(secret === '' ? {} : { secret }),
});

/** Creates or changes a webhook. Sending starts when it is saved. */
export function WebhookEditor({ webhook, onClose, onSecret }: WebhookEditorProps) {
  const { t } = useTranslation('profile');
  const save = useSaveWebhook();
  const { data: webhooks } = useWebhooks();
  /** The version that the user has seen. */
  const [base, setBase] = useState(webhook);
  const form = useForm<FormValues>({ initialValues: toFormValues(webhook) });
  const saveOver = (version: Webhook | null): void =>
    save.mutate(
      { webhook: version, body: toChange(form.values) },
      {
        onSuccess: (saved) => {
          onClose();
          if (saved.secret !== null) onSecret({ webhook: saved.webhook, secret: saved.secret });
        },
        onError: (error) => form.setErrors(toFieldErrors(error)),
      },
    );
  const newest = webhooks?.find(({ id }) => id === webhook?.id);
  const isChangedElsewhere = isVersionMismatch(save.error) && newest !== undefined;
  const isOtherFault = save.isError && !isChangedElsewhere && Object.keys(toFieldErrors(save.error)).length === 0;
  const takeTheirs = (): void => {
    form.setValues(toFormValues(newest ?? null));
    setBase(newest ?? null);
    save.reset();
  };
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={t(webhook === null ? 'webhooks.add' : 'webhooks.edit')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={form.onSubmit(() => saveOver(base))}>
        <Stack>
          {isOtherFault ? <Failure error={save.error} /> : null}
          {isChangedElsewhere ? (
            <ChangedElsewhere
              base={base ?? newest}
              mine={{ ...newest, ...toChange(form.values) }}
              theirs={newest}
              isSaving={save.isPending}
              onKeepMine={() => saveOver(newest)}
              onTakeTheirs={takeTheirs}
            />
          ) : null}
          <TextInput label={t('webhooks.url')} type="url" required data-autofocus {...form.getInputProps('url')} />
          <TextInput label={t('webhooks.name')} maxLength={100} {...form.getInputProps('name')} />
          {webhook === null ? <SecretField {...form.getInputProps('secret')} /> : null}
          <EventChoice {...form.getInputProps('notification_types')} />
          <VehicleChoice {...form.getInputProps('vehicle_ids')} />
          <HeaderFields {...form.getInputProps('headers')} />
          <Checkbox label={t('webhooks.enabled')} {...form.getInputProps('enabled', { type: 'checkbox' })} />
          <FormButtons isSaving={save.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Drawer>
  );
}
