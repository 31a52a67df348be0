import { Checkbox, Group, Modal, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useSendOnce } from '../../../common/forms/use-send-once.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';

const scopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'] as const;
type Scope = (typeof scopes)[number];

interface KeyForm {
  readonly name: string;
  readonly scopes: string[];
  readonly addresses: string;
  readonly expires: string;
}

const emptyForm: KeyForm = { name: '', scopes: ['read'], addresses: '', expires: '' };

const toBody = ({ name, scopes: chosen, addresses, expires }: KeyForm) => ({
  name,
  scopes: chosen as Scope[],
  ip_allowlist: addresses.split(/[\s,]+/).filter((address) => address !== ''),
  ...(expires === '' ? {} : { expires_at: new Date(expires).toISOString() }),
});

/** Creates an API key. */
export function NewApiKey({ onClose, onCreated }: { onClose: () => void; onCreated: (key: string) => void }) {
  const { t } = useTranslation('profile');
  const { api } = useSession();
  const queries = useQueryClient();
  const send = useSendOnce();
  const form = useForm({ initialValues: emptyForm });
  const create = useMutation({
    mutationFn: async (values: KeyForm) => {
      const body = toBody(values);
      const created = await send(body, (header) => api.POST('/api/api-keys', { body, params: { header } }));
      return created.data?.data.key ?? null;
    },
    onSuccess: (created) => {
      void queries.invalidateQueries({ queryKey: ['listApiKeys'] });
      onClose();
      if (created !== null) onCreated(created);
    },
    onError: (error) => form.setErrors(toFieldErrors(error)),
  });
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('apiKeys.add')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
        <Stack>
          {create.isError ? <Failure error={create.error} /> : null}
          <TextInput label={t('apiKeys.column.name')} required maxLength={100} {...form.getInputProps('name')} />
          <Checkbox.Group label={t('apiKeys.column.scopes')} {...form.getInputProps('scopes')}>
            <Group mt="xs">
              {scopes.map((scope) => (
                <Checkbox key={scope} value={scope} label={scope} />
              ))}
            </Group>
          </Checkbox.Group>
          <TextInput
            label={t('apiKeys.column.addresses')}
            description={t('apiKeys.addressesHint')}
            {...form.getInputProps('addresses')}
          />
          <TextInput type="date" label={t('apiKeys.column.expires')} {...form.getInputProps('expires')} />
          <FormButtons isSaving={create.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
