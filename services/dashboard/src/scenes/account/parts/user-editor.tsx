import { Button, Checkbox, Drawer, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { FormButtons } from '../../../common/forms/form-buttons.tsx';
import { useMe, useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';
import type { CreatedUser, User } from '../queries.ts';
import { rolesGivenBy } from '../roles.ts';

interface UserEditorProps {
  readonly user: User;
  readonly onClose: () => void;
  readonly onInvited: (user: CreatedUser) => void;
}

interface UserForm {
  readonly name: string;
  readonly role: User['role'];
  readonly can_view_video: boolean;
  readonly disabled: boolean;
}

/** Changes a user; dangerous actions stand below the form. */
export function UserEditor({ user, onClose, onInvited }: UserEditorProps) {
  const { t } = useTranslation('account');
  const { api } = useSession();
  const me = useMe();
  const queries = useQueryClient();
  const form = useForm<UserForm>({
    initialValues: {
      name: user.name,
      role: user.role,
      can_view_video: user.can_view_video,
      disabled: user.disabled,
    },
  });
  const save = useMutation({
    mutationFn: (body: UserForm) => {
      const params = { path: { id: user.id }, header: { 'If-Match': `"${user.version}"` } };
      return api.PUT('/api/users/{id}', { params, body });
    },
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ['listUsers'] });
      onClose();
    },
    onError: (error) => form.setErrors(toFieldErrors(error)),
  });
  const roles = rolesGivenBy(me.role);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      title={user.name}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <form onSubmit={form.onSubmit((values) => save.mutate(values))}>
        <Stack>
          {save.isError ? <Failure error={save.error} /> : null}
          <TextInput label={t('users.name')} required maxLength={100} {...form.getInputProps('name')} />
          <NativeSelect
            label={t('users.role')}
            // An own role above those that it gives stays as it is.
            data={[...new Set([user.role, ...roles])].map((value) => ({ value, label: t(`common:role.${value}`) }))}
            {...form.getInputProps('role')}
          />
          <Checkbox label={t('users.mayViewVideo')} {...form.getInputProps('can_view_video', { type: 'checkbox' })} />
          <Checkbox label={t('users.disabled')} {...form.getInputProps('disabled', { type: 'checkbox' })} />
          <FormButtons isSaving={save.isPending} onCancel={onClose} />
        </Stack>
      </form>
      {user.id === me.id ? null : <DangerousActions user={user} onClose={onClose} onInvited={onInvited} />}
    </Drawer>
  );
}

function DangerousActions({ user, onClose, onInvited }: UserEditorProps) {
  const { t } = useTranslation('account');
  const { api } = useSession();
  const queries = useQueryClient();
  const [isConfirming, setIsConfirming] = useState(false);
  const params = { path: { id: user.id } };
  const onSuccess = (): void => {
    void queries.invalidateQueries({ queryKey: ['listUsers'] });
    onClose();
  };
  const invite = useMutation({
    mutationFn: async () => (await api.POST('/api/users/{id}/invite', { params })).data?.data,
    onSuccess: (invited) => {
      onSuccess();
      if (invited !== undefined) onInvited(invited);
    },
  });
  const endTwoFactor = useMutation({
    mutationFn: () => api.PUT('/api/users/{id}', { params, body: { two_factor_enabled: false } }),
    onSuccess,
  });
  const remove = useMutation({ mutationFn: () => api.DELETE('/api/users/{id}', { params }), onSuccess });
  const failed = [invite, endTwoFactor, remove].find(({ isError }) => isError);
  return (
    <Stack mt="xl" className="card">
      {failed === undefined ? null : <Failure error={failed.error} />}
      {user.last_login_at === null && !user.disabled ? (
        <Button variant="default" loading={invite.isPending} onClick={() => invite.mutate()}>
          {t('users.inviteAgain')}
        </Button>
      ) : null}
      {user.two_factor_enabled ? (
        <Button variant="default" loading={endTwoFactor.isPending} onClick={() => endTwoFactor.mutate()}>
          {t('users.endTwoFactor')}
        </Button>
      ) : null}
      {isConfirming ? (
        <>
          <Text>{t('users.removeText', { name: user.name })}</Text>
          <Group>
            <Button variant="default" onClick={() => setIsConfirming(false)}>
              {t('common:action.cancel')}
            </Button>
            <Button color="critical" loading={remove.isPending} onClick={() => remove.mutate()}>
              {t('common:action.delete')}
            </Button>
          </Group>
        </>
      ) : (
        <Button variant="outline" color="critical" onClick={() => setIsConfirming(true)}>
          {t('users.remove')}
        </Button>
      )}
    </Stack>
  );
}
