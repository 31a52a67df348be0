import { ApiFailure } from '@fleet/api-client';
import { Alert, Button, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../../common/session/session-context.ts';
import { describeLoginFailure } from '../model.ts';

const resendSeconds = 60;

/** Logs a user in with a code that is sent by SMS. */
export function CodeForm() {
  const { t, i18n } = useTranslation('login');
  const session = useSession();
  const [isSent, setIsSent] = useState(false);
  const [waitSeconds, setWaitSeconds] = useState(0);
  const [failure, setFailure] = useState<string | null>(null);
  const [needsSecond, setNeedsSecond] = useState(false);
  const form = useForm({ initialValues: { phoneNumber: '', code: '', second: '' } });
  useEffect(() => {
    if (waitSeconds === 0) return undefined;
    const timer = setTimeout(() => setWaitSeconds(waitSeconds - 1), 1_000);
    return () => clearTimeout(timer);
  }, [waitSeconds]);
  const run = async (work: () => Promise<void>): Promise<void> => {
    setFailure(null);
    try {
      await work();
    } catch (error) {
      // The code of the SMS stays valid for the second step.
      if (error instanceof ApiFailure && error.code === 'two_factor_required' && !needsSecond)
        return setNeedsSecond(true);
      setFailure(describeLoginFailure(error, t, i18n.language));
    }
  };
  const send = () =>
    run(async () => {
      await session.sendCode(form.values.phoneNumber);
      setIsSent(true);
      setWaitSeconds(resendSeconds);
    });
  const logIn = () =>
    run(() => {
      const { phoneNumber, code, second } = form.values;
      return session.logInWithCode(phoneNumber, code, needsSecond ? second.trim() : undefined);
    });
  return (
    <form onSubmit={form.onSubmit(() => (isSent ? logIn() : send()))}>
      <Stack>
        {failure === null ? null : <Alert color="critical" variant="outline" title={failure} role="alert" />}
        <TextInput
          label={t('phoneNumber')}
          type="tel"
          autoComplete="tel"
          required
          {...form.getInputProps('phoneNumber')}
        />
        {isSent ? (
          <TextInput
            label={t('code')}
            autoComplete="one-time-code"
            inputMode="numeric"
            required
            {...form.getInputProps('code')}
          />
        ) : null}
        {needsSecond ? (
          <TextInput
            label={t('secondFactor')}
            description={t('secondFactorHint')}
            autoComplete="one-time-code"
            required
            {...form.getInputProps('second')}
          />
        ) : null}
        <Button type="submit" loading={form.submitting}>
          {t(isSent ? 'submit' : 'sendCode')}
        </Button>
        {isSent ? (
          <Button variant="default" disabled={waitSeconds > 0} onClick={() => void send()}>
            {waitSeconds > 0 ? t('sendAgainIn', { seconds: waitSeconds }) : t('sendAgain')}
          </Button>
        ) : null}
      </Stack>
    </form>
  );
}
