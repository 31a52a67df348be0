import { Badge, Button, Drawer } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Age } from '../../../common/ui/age.tsx';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import { useDeliveries, useWebhookChanges, type Webhook } from './webhook-queries.ts';

/** The newest deliveries of a webhook. A finished one can be sent again. */
export function Deliveries({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { t } = useTranslation('profile');
  const deliveries = useDeliveries(webhook.id);
  const { retry } = useWebhookChanges();
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="lg"
      title={t('webhooks.deliveries')}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      {deliveries.isPending ? <Loading /> : null}
      {deliveries.isError ? <Failure error={deliveries.error} onRetry={() => void deliveries.refetch()} /> : null}
      {retry.isError ? <Failure error={retry.error} /> : null}
      {deliveries.data?.length === 0 ? <Empty title={t('webhooks.noDeliveries')} /> : null}
      <ul className="row-list">
        {deliveries.data?.map((delivery) => (
          <li key={delivery.id}>
            <span>{delivery.notification_type}</span>
            <Badge variant="default">
              {t(`webhooks.delivery.${delivery.status}`, { defaultValue: delivery.status })}
            </Badge>
            <span>{t('webhooks.attempts', { count: delivery.attempt_count })}</span>
            <small>
              <Age timeMs={Date.parse(delivery.created_at)} />
            </small>
            <Button
              size="compact-xs"
              variant="default"
              disabled={delivery.status === 'pending'}
              onClick={() => retry.mutate({ id: webhook.id, deliveryId: delivery.delivery_id })}
            >
              {t('webhooks.retry')}
            </Button>
          </li>
        ))}
      </ul>
    </Drawer>
  );
}
