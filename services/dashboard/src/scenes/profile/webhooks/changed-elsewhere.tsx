import { Alert, Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Webhook } from './queries.ts';

interface ChangedElsewhereProps {
  readonly theirs: Webhook;
  readonly onKeepMine: () => void;
  readonly onTakeTheirs: () => void;
}

/** Says that another window or user has saved the webhook, with the saved values, and offers both versions. */
export function ChangedElsewhere({ theirs, onKeepMine, onTakeTheirs }: ChangedElsewhereProps) {
  const { t } = useTranslation('profile');
  return (
    <Alert color="critical" variant="outline" title={t('webhooks.changedElsewhere')} role="alert">
      <Text>
        {t('webhooks.theirVersion', {
          url: theirs.url,
          name: theirs.name ?? '–',
          status: t(`webhooks.status.${theirs.status}`),
        })}
      </Text>
      <Group mt="sm">
        <Button size="xs" onClick={onKeepMine}>
          {t('webhooks.keepMine')}
        </Button>
        <Button size="xs" variant="default" onClick={onTakeTheirs}>
          {t('webhooks.takeTheirs')}
        </Button>
      </Group>
    </Alert>
  );
}
