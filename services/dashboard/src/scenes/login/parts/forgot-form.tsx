import { Alert, Button, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { config } from '../../../common/config.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { describeLoginFailure } from '../model.ts';

/** Requests a link to a new password. Says the same for known and unknown users. */
export function ForgotForm() {
  const { t, i18n } = useTranslation('login');
  const session = useSession();
  const [isSent, setIsSent] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const form = useForm({ initialValues: { identifier: '' } });
  const submit = form.onSubmit(async ({ identifier }) => {
    setFailure(null);
    try {
      await session.forgotPassword(identifier.trim());
      setIsSent(true);
    } catch (error) {
      setFailure(describeLoginFailure(error, t, i18n.language));
    }
  });
  // Users without an e-mail address get the link by SMS.
  if (!config.mail && !config.one_time_codes) return <Text>{t('noMail')}</Text>;
  if (isSent) return <Text role="status">{t('linkSent')}</Text>;
  return (
    <form onSubmit={submit}>
      <Stack>
        {failure === null ? null : <Alert color="critical" variant="outline" title={failure} role="alert" />}
        <TextInput label={t('identifier')} autoComplete="username" required {...form.getInputProps('identifier')} />
        <Button type="submit" loading={form.submitting}>
          {t('sendLink')}
        </Button>
      </Stack>
    </form>
  );
}
