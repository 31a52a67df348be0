import { Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { config } from '../../../common/config.ts';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useSendOnce } from '../../../common/forms/use-send-once.ts';
import { useMe, useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import type { CreatedUser } from '../queries.ts';
import { type Role, rolesGivenBy } from '../roles.ts';

interface InviteDialogProps {
  readonly onClose: () => void;
  readonly onInvited: (user: CreatedUser) => void;
}

const emptyForm: { name: string; email: string; role: Role } = { name: '', email: '', role: 'viewer' };

/** Invites a person, who chooses the password with a link. */
export function InviteDialog({ onClose, onInvited }: InviteDialogProps) {
  const { t } = useTranslation('account');
  const { api } = useSession();
  const me = useMe();
  const queries = useQueryClient();
  const send = useSendOnce();
  const form = useForm({ initialValues: emptyForm });
  const invite = useMutation({
    mutationFn: async ({ name, email, role }: typeof emptyForm) => {
      const body = { email, role, ...(name === '' ? {} : { name }) };
      return (await send(body, (header) => api.POST('/api/users/invite', { body, params: { header } }))).data?.data;
    },
    onSuccess: (user) => {
      void queries.invalidateQueries({ queryKey: ['listUsers'] });
      onClose();
      if (user !== undefined) onInvited(user);
    },
    onError: (error) => form.setErrors(toFieldErrors(error)),
  });
  const isFieldFault = invite.isError && Object.keys(toFieldErrors(invite.error)).length > 0;
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('users.invite')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={form.onSubmit((values) => invite.mutate(values))}>
        <Stack>
          {invite.isError && !isFieldFault ? <Failure error={invite.error} /> : null}
          {config.mail ? null : <Text c="dimmed">{t('invitation.noMail')}</Text>}
          <TextInput label={t('users.email')} type="email" required {...form.getInputProps('email')} />
          <TextInput label={t('users.name')} maxLength={100} {...form.getInputProps('name')} />
          <NativeSelect
            label={t('users.role')}
            data={rolesGivenBy(me.role).map((value) => ({ value, label: t(`common:role.${value}`) }))}
            {...form.getInputProps('role')}
          />
          <FormButtons isSaving={invite.isPending} onCancel={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}
