import { Button, Checkbox, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { getNotificationChoice, setNotificationChoice } from '../../../common/alerts/browser-notifications.ts';
import { playCriticalSound } from '../../../common/alerts/critical-sound.ts';

/** Offers the notifications of this browser, whose permission is requested by the click, and a sample of the sound. */
export function BrowserNotifications() {
  const { t } = useTranslation('profile');
  const [choice, setChoice] = useState(getNotificationChoice);
  return (
    <section className="card" aria-label={t('notifications.browser')}>
      <Title order={2} size="h4" mb="sm">
        {t('notifications.browser')}
      </Title>
      <Stack gap="sm" align="start">
        <Checkbox
          label={t('notifications.browserOn')}
          disabled={choice === 'unsupported' || choice === 'denied'}
          checked={choice === 'on'}
          onChange={({ currentTarget }) => void setNotificationChoice(currentTarget.checked).then(setChoice)}
        />
        <Text c="dimmed" role="status">
          {choice === 'denied'
            ? t('notifications.browserDenied')
            : t(choice === 'unsupported' ? 'notifications.browserUnsupported' : 'notifications.browserHint')}
        </Text>
        <Button size="xs" variant="default" onClick={() => void playCriticalSound()}>
          {t('notifications.playSound')}
        </Button>
      </Stack>
    </section>
  );
}
