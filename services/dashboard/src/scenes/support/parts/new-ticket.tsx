import { Modal, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { type Ticket, useTicketChanges } from '../queries.ts';

const priorities = ['low', 'normal', 'high', 'urgent'] as const;
const emptyForm: { subject: string; message: string; priority: Ticket['priority'] } = {
  subject: '',
  message: '',
  priority: 'normal',
};

/** Writes a ticket. */
export function NewTicket({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation('support');
  const { create } = useTicketChanges();
  const form = useForm({ initialValues: emptyForm });
  const submit = form.onSubmit((values) => {
    create.mutate(values, { onSuccess: onClose, onError: (error) => form.setErrors(toFieldErrors(error)) });
  });
  return (
    <Modal opened onClose={onClose} title={t('add')} closeButtonProps={{ 'aria-label': t('common:action.close') }}>
      <form onSubmit={submit}>
        <Stack>
          {create.isError ? <Failure error={create.error} /> : null}
          <TextInput label={t('subject')} required maxLength={200} {...form.getInputProps('subject')} />
          <NativeSelect
            label={t('priority')}
            data={priorities.map((value) => ({ value, label: t(`priorities.${value}`) }))}
            {...form.getInputProps('priority')}
          />
          <Textarea label={t('message')} required rows={6} maxLength={10_000} {...form.getInputProps('message')} />
          <FormButtons isSaving={create.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
