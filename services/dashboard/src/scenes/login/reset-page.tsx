import { ApiFailure } from '@fleet/api-client';
import { Alert, Button, PasswordInput, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Link, useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../common/session/session-context.ts';
import { Loading } from '../../common/ui/states.tsx';
import { describeLoginFailure } from './model.ts';

const minPasswordLength = 10;

/** Returns the token of the link, from the fragment or, in older mails, the query. */
function readToken(): string {
  const fragment = new URLSearchParams(window.location.hash.slice(1));
  return fragment.get('token') ?? new URLSearchParams(window.location.search).get('token') ?? '';
}

type Check = Awaited<ReturnType<ReturnType<typeof useSession>['checkPasswordToken']>>;
type CheckState =
  | { readonly kind: 'checking' }
  | { readonly kind: 'valid'; readonly check: Check }
  | { readonly kind: 'refused'; readonly text: string };

/** Sets a new password, after a reset link or an invitation, and logs the user in. */
export function ResetPage() {
  const { t, i18n } = useTranslation('login');
  const session = useSession();
  const [token] = useState(readToken);
  const [state, setState] = useState<CheckState>({ kind: 'checking' });
  // The token must not stay in the history or in a shared link.
  useEffect(() => window.history.replaceState(window.history.state, '', '/reset-password'), []);
  useEffect(() => {
    if (token === '') return setState({ kind: 'refused', text: t('failure.incompleteLink') });
    session
      .checkPasswordToken(token)
      .then((check) => setState({ kind: 'valid', check }))
      .catch((error: unknown) => setState({ kind: 'refused', text: describeLoginFailure(error, t, i18n.language) }));
  }, [session, token, t, i18n]);
  return (
    <main className="auth">
      <div className="card">
        {state.kind === 'checking' ? <Loading /> : null}
        {state.kind === 'refused' ? <Refused text={state.text} /> : null}
        {state.kind === 'valid' ? <NewPassword token={token} check={state.check} /> : null}
      </div>
    </main>
  );
}

function Refused({ text }: { text: string }) {
  const { t } = useTranslation('login');
  return (
    <Stack>
      <h1>{t('newPassword')}</h1>
      <Alert color="critical" variant="outline" title={text} role="alert" />
      <Button component={Link} to="/login" variant="default">
        {t('toLogin')}
      </Button>
    </Stack>
  );
}

function NewPassword({ token, check }: { token: string; check: Check }) {
  const { t, i18n } = useTranslation('login');
  const session = useSession();
  const router = useRouter();
  const [isSet, setIsSet] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const form = useForm({
    initialValues: { password: '' },
    validate: { password: (value) => (value.length < minPasswordLength ? t('passwordTooShort') : null) },
  });
  const submit = form.onSubmit(async ({ password }) => {
    setFailure(null);
    try {
      const identifier = await session.resetPassword(token, password);
      setIsSet(true);
      await session.logIn(identifier, password);
      router.history.replace('/map');
    } catch (error) {
      // The password is set; the log-in page requests the second factor.
      if (error instanceof ApiFailure && error.code === 'two_factor_required') return;
      setFailure(describeLoginFailure(error, t, i18n.language));
    }
  });
  const greeting = check.kind === 'invitation' ? 'welcome' : 'greeting';
  return (
    <>
      <h1>{t(`check.${greeting}`, { name: check.name, account: check.account_name })}</h1>
      {failure === null ? null : <Alert mb="md" color="critical" variant="outline" title={failure} role="alert" />}
      {isSet ? (
        <Stack>
          <p role="status">{t('passwordSet')}</p>
          <Button component={Link} to="/login">
            {t('submit')}
          </Button>
        </Stack>
      ) : (
        <form onSubmit={submit}>
          <Stack>
            <Text c="dimmed">{t('check.account', { account: check.account_name })}</Text>
            <PasswordInput
              label={t('newPassword')}
              description={t('passwordHint')}
              autoComplete="new-password"
              required
              visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
              {...form.getInputProps('password')}
            />
            <Button type="submit" loading={form.submitting}>
              {t('setPassword')}
            </Button>
          </Stack>
        </form>
      )}
    </>
  );
}
