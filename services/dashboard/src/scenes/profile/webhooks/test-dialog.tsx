import { Modal, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Webhook } from './queries.ts';
import { TestEvent } from './test-event.tsx';

/** Sends test events to a webhook. */
export function TestDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { t } = useTranslation('profile');
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('webhooks.test')}
      size="lg"
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <Text c="dimmed" mb="md">
        {t('webhooks.testHint', { url: webhook.url })}
      </Text>
      <TestEvent webhookId={webhook.id} />
    </Modal>
  );
}
