import { Button, Group, PasswordInput, Stack, Text, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { toFieldErrors } from '../../../common/forms/faults.ts';
import { useMe, useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';

const emptyForm = { current_password: '', password: '' };

/** Changes the own password, which ends all other sessions. */
export function PasswordForm() {
  const { t } = useTranslation('profile');
  const { api } = useSession();
  const { id } = useMe();
  const form = useForm({ initialValues: emptyForm });
  const save = useMutation({
    mutationFn: (body: typeof emptyForm) => api.PUT('/api/users/{id}', { params: { path: { id } }, body }),
    onSuccess: () => form.reset(),
    onError: (error) => form.setErrors(toFieldErrors(error)),
  });
  const isFieldFault = save.isError && Object.keys(toFieldErrors(save.error)).length > 0;
  const toggle = { 'aria-label': t('security.showPassword') };
  return (
    <form
      className="card"
      aria-label={t('security.password')}
      onSubmit={form.onSubmit((values) => save.mutate(values))}
    >
      <Title order={2} size="h4" mb="sm">
        {t('security.password')}
      </Title>
      <Stack maw={360}>
        {save.isError && !isFieldFault ? <Failure error={save.error} /> : null}
        <PasswordInput
          label={t('security.currentPassword')}
          autoComplete="current-password"
          required
          visibilityToggleButtonProps={toggle}
          {...form.getInputProps('current_password')}
        />
        <PasswordInput
          label={t('security.newPassword')}
          description={t('security.passwordHint')}
          autoComplete="new-password"
          required
          minLength={10}
          visibilityToggleButtonProps={toggle}
          {...form.getInputProps('password')}
        />
        <Group>
          <Button type="submit" loading={save.isPending}>
            {t('security.changePassword')}
          </Button>
          <Text role="status" size="sm">
            {save.isSuccess ? t('security.passwordChanged') : ''}
          </Text>
        </Group>
      </Stack>
    </form>
  );
}
