import { Button, Group, Modal, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Failure } from '../../../common/ui/states.tsx';
import { useWebhookActions, type Webhook } from './queries.ts';

/** Deletes a webhook after a confirmation. */
export function DeleteDialog({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { t } = useTranslation('profile');
  const { remove } = useWebhookActions();
  return (
    <Modal
      opened
      onClose={onClose}
      title={t('webhooks.deleteTitle')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      {remove.isError ? <Failure error={remove.error} /> : null}
      <Text mb="md">{t('webhooks.deleteText', { url: webhook.url })}</Text>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          {t('common:action.cancel')}
        </Button>
        <Button
          color="critical"
          loading={remove.isPending}
          onClick={() => remove.mutate(webhook.id, { onSuccess: onClose })}
        >
          {t('common:action.delete')}
        </Button>
      </Group>
    </Modal>
  );
}
