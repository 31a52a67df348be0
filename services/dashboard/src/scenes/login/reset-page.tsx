import { Alert, Button, PasswordInput, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../common/session/session-context.ts';
import { describeLoginFailure } from './model.ts';

const minPasswordLength = 10;

/** Returns the token of the link, from the fragment or, in older mails, the query. */
function readToken(): string {
  const fragment = new URLSearchParams(window.location.hash.slice(1));
  return fragment.get('token') ?? new URLSearchParams(window.location.search).get('token') ?? '';
}

/** Sets a new password, after a reset link or an invitation. */
export function ResetPage() {
  const { t } = useTranslation('login');
  const session = useSession();
  const [token] = useState(readToken);
  const [isDone, setIsDone] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const form = useForm({
    initialValues: { password: '' },
    validate: { password: (value) => (value.length < minPasswordLength ? t('passwordTooShort') : null) },
  });
  // The token must not stay in the history or in a shared link.
  useEffect(() => window.history.replaceState(window.history.state, '', '/reset-password'), []);
  const submit = form.onSubmit(async ({ password }) => {
    setFailure(null);
    try {
      await session.resetPassword(token, password);
      setIsDone(true);
    } catch (error) {
      setFailure(describeLoginFailure(error, t));
    }
  });
  return (
    <main className="auth">
      <div className="card">
        <h1>{t('newPassword')}</h1>
        {isDone ? (
          <Stack>
            <p role="status">{t('passwordSet')}</p>
            <Button component={Link} to="/login">
              {t('submit')}
            </Button>
          </Stack>
        ) : (
          <form onSubmit={submit}>
            <Stack>
              {failure === null ? null : <Alert color="critical" variant="outline" title={failure} role="alert" />}
              <PasswordInput
                label={t('newPassword')}
                description={t('passwordHint')}
                autoComplete="new-password"
                required
                visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
                {...form.getInputProps('password')}
              />
              <Button type="submit" loading={form.submitting} disabled={token === ''}>
                {t('setPassword')}
              </Button>
            </Stack>
          </form>
        )}
      </div>
    </main>
  );
}
