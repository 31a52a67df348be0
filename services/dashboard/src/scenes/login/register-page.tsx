import { Alert, Anchor, Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { config } from '../../common/config.ts';
import { toFieldErrors } from '../../common/forms/faults.ts';
import { useSession } from '../../common/session/session-context.ts';
import { describeLoginFailure } from './model.ts';

const emptyForm = { name: '', account_name: '', email: '', password: '' };

/** Opens an account and logs its owner in, if the installation permits that. */
export function RegisterPage() {
  const { t, i18n } = useTranslation('login');
  const session = useSession();
  const router = useRouter();
  const [failure, setFailure] = useState<string | null>(null);
  const form = useForm({ initialValues: emptyForm });
  const submit = form.onSubmit(async (values) => {
    setFailure(null);
    try {
      await session.register(values);
      router.history.replace('/map');
    } catch (error) {
      const faults = toFieldErrors(error);
      form.setErrors(faults);
      if (Object.keys(faults).length === 0) setFailure(describeLoginFailure(error, t, i18n.language));
    }
  });
  return (
    <main className="auth">
      <div className="card">
        <h1>{t('register')}</h1>
        {config.signup_enabled ? (
          <form onSubmit={submit}>
            <Stack>
              {failure === null ? null : <Alert color="critical" variant="outline" title={failure} role="alert" />}
              <TextInput label={t('accountName')} required maxLength={100} {...form.getInputProps('account_name')} />
              <TextInput
                label={t('yourName')}
                autoComplete="name"
                required
                maxLength={100}
                {...form.getInputProps('name')}
              />
              <TextInput
                label={t('email')}
                type="email"
                autoComplete="username"
                required
                {...form.getInputProps('email')}
              />
              <PasswordInput
                label={t('password')}
                description={t('passwordHint')}
                autoComplete="new-password"
                required
                minLength={10}
                visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
                {...form.getInputProps('password')}
              />
              <Button type="submit" loading={form.submitting}>
                {t('register')}
              </Button>
            </Stack>
          </form>
        ) : (
          <p>{t('signUpDisabled')}</p>
        )}
        <Anchor component={Link} to="/login" size="sm">
          {t('toLogin')}
        </Anchor>
      </div>
    </main>
  );
}
