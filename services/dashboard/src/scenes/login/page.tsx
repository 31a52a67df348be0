import { ApiFailure } from '@fleet/api-client';
import { Alert, Anchor, Button, Group, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { getRouteApi, Link, useRouter } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { config } from '../../common/config.ts';
import { useSession, useSessionState } from '../../common/session/session-context.ts';
import { describeLoginFailure } from './model.ts';
import { CodeForm } from './parts/code-form.tsx';
import { ForgotForm } from './parts/forgot-form.tsx';

const route = getRouteApi('/login');

type Mode = 'password' | 'code' | 'forgot';

/** Logs a user in with a password or a one-time code, and with a second factor if the user has one. */
export function LoginPage() {
  const { t } = useTranslation('login');
  const state = useSessionState();
  const { next } = route.useSearch();
  const router = useRouter();
  const [mode, setMode] = useState<Mode>('password');
  const isSignedIn = state.kind === 'signedIn';
  useEffect(() => {
    if (isSignedIn) router.history.replace(next ?? '/map');
  }, [isSignedIn, next, router]);
  if (isSignedIn) return null;
  return (
    <main className="auth">
      <div className="card">
        <h1>{config.product_name}</h1>
        {state.kind === 'signedOut' && state.reason === 'ended' ? (
          <Alert mb="md" color="action" variant="outline" title={t('ended')} />
        ) : null}
        {mode === 'password' ? <PasswordForm /> : null}
        {mode === 'code' ? <CodeForm /> : null}
        {mode === 'forgot' ? <ForgotForm /> : null}
        <Group mt="lg" gap="lg">
          {(['password', 'code', 'forgot'] as const)
            .filter((other) => other !== mode && (other !== 'code' || config.one_time_codes))
            .map((other) => (
              <Anchor key={other} component="button" type="button" size="sm" onClick={() => setMode(other)}>
                {t(`mode.${other}`)}
              </Anchor>
            ))}
          {config.signup_enabled ? (
            <Anchor component={Link} to="/register" size="sm">
              {t('register')}
            </Anchor>
          ) : null}
        </Group>
        {window.isSecureContext ? null : <p>{t('insecure')}</p>}
      </div>
    </main>
  );
}

function PasswordForm() {
  const { t, i18n } = useTranslation('login');
  const session = useSession();
  const [needsCode, setNeedsCode] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const form = useForm({ initialValues: { identifier: '', password: '', code: '' } });
  const submit = form.onSubmit(async ({ identifier, password, code }) => {
    setFailure(null);
    try {
      await session.logIn(identifier.trim(), password, needsCode ? code : undefined);
    } catch (error) {
      if (error instanceof ApiFailure && error.code === 'two_factor_required' && !needsCode) setNeedsCode(true);
      else setFailure(describeLoginFailure(error, t, i18n.language));
    }
  });
  return (
    <form onSubmit={submit}>
      <Stack>
        {failure === null ? null : <Alert color="critical" variant="outline" title={failure} role="alert" />}
        <TextInput label={t('identifier')} autoComplete="username" required {...form.getInputProps('identifier')} />
        <PasswordInput
          label={t('password')}
          autoComplete="current-password"
          required
          visibilityToggleButtonProps={{ 'aria-label': t('showPassword') }}
          {...form.getInputProps('password')}
        />
        {needsCode ? (
          <TextInput
            label={t('secondFactor')}
            description={t('secondFactorHint')}
            autoComplete="one-time-code"
            required
            data-autofocus
            {...form.getInputProps('code')}
          />
        ) : null}
        <Button type="submit" loading={form.submitting}>
          {t('submit')}
        </Button>
      </Stack>
    </form>
  );
}
