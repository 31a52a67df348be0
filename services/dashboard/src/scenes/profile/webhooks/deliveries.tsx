import { Button, Drawer, Group, Text } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat, useNow } from '../../../common/format/preferences-context.ts';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';
import { DeliveryDetailsPanel } from './delivery-details.tsx';
import { DeliveryFilters } from './delivery-filters.tsx';
import { toOutcomeText } from './model.ts';
import {
  type Delivery,
  type DeliveryFilter,
  deliveriesPerPage,
  useDeliveries,
  useNotificationTypes,
  useReplay,
  type Webhook,
} from './queries.ts';

const everything: DeliveryFilter = { status: '', type: '', imei: '', hours: 24, offset: 0 };

/** Lists the deliveries of a webhook: filters, attempts, and everything that sends again. */
export function Deliveries({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const { t } = useTranslation('profile');
  const [filter, setFilter] = useState(everything);
  const [openId, setOpenId] = useState<string | null>(null);
  const deliveries = useDeliveries(webhook.id, filter);
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="xl"
      title={t('webhooks.deliveriesOf', { name: webhook.name ?? webhook.url })}
      closeButtonProps={{ 'aria-label': t('common:action.close') }}
    >
      <DeliveryFilters filter={filter} onChange={setFilter} />
      <Replay webhook={webhook} hours={filter.hours} />
      {deliveries.isPending ? <Loading /> : null}
      {deliveries.isError ? <Failure error={deliveries.error} onRetry={() => void deliveries.refetch()} /> : null}
      {deliveries.data?.total === 0 ? <Empty title={t('webhooks.noDeliveries')} /> : null}
      <ul className="delivery-list">
        {deliveries.data?.items.map((delivery) => (
          <li key={delivery.id}>
            <DeliveryRow
              delivery={delivery}
              isOpen={openId === delivery.delivery_id}
              onToggle={() => setOpenId(openId === delivery.delivery_id ? null : delivery.delivery_id)}
            />
            {openId === delivery.delivery_id ? (
              <DeliveryDetailsPanel webhook={webhook} deliveryId={delivery.delivery_id} />
            ) : null}
          </li>
        ))}
      </ul>
      <Pages total={deliveries.data?.total ?? 0} filter={filter} onChange={setFilter} />
    </Drawer>
  );
}

function Replay({ webhook, hours }: { webhook: Webhook; hours: number }) {
  const { t } = useTranslation('profile');
  const replay = useReplay();
  return (
    <Group mb="sm" gap="sm">
      <Button
        size="compact-sm"
        variant="default"
        loading={replay.isPending}
        onClick={() => replay.mutate({ id: webhook.id, hours })}
      >
        {t('webhooks.replay', { hours })}
      </Button>
      <Text role="status" size="sm">
        {replay.data === undefined ? '' : t('webhooks.replayed', { count: replay.data })}
      </Text>
      {replay.isError ? <Failure error={replay.error} /> : null}
    </Group>
  );
}

function DeliveryRow({ delivery, isOpen, onToggle }: { delivery: Delivery; isOpen: boolean; onToggle: () => void }) {
  const format = useFormat();
  const nowMs = useNow();
  const types = useNotificationTypes();
  const createdMs = Date.parse(delivery.created_at);
  const title = types.data?.find(({ type }) => type === delivery.notification_type)?.title;
  return (
    <button type="button" className="delivery-row" aria-expanded={isOpen} onClick={onToggle}>
      <time dateTime={delivery.created_at} title={format.exact(createdMs)}>
        {format.age(createdMs, nowMs)}
      </time>
      <span>
        {title ?? delivery.notification_type} <small>{delivery.imei}</small>
      </span>
      <DeliveryState delivery={delivery} nowMs={nowMs} />
    </button>
  );
}

function DeliveryState({ delivery, nowMs }: { delivery: Delivery; nowMs: number }) {
  const { t } = useTranslation('profile');
  const { status, attempt_count: count, next_attempt_at: next, last_attempt: last } = delivery;
  const outcome = last === null ? '' : t('webhooks.outcome', { outcome: toOutcomeText(last), ms: last.duration_ms });
  if (status === 'pending' && next !== null) {
    const seconds = Math.max(0, Math.ceil((Date.parse(next) - nowMs) / 1000));
    const attempt = { seconds, number: count + 1, outcome };
    return <span data-status={status}>{t(last === null ? 'webhooks.firstIn' : 'webhooks.nextIn', attempt)}</span>;
  }
  const text = status === 'failed' ? t('webhooks.failedAfter', { count }) : t(`webhooks.delivery.${status}`);
  return (
    <span data-status={status}>
      {text} {outcome}
    </span>
  );
}

interface PagesProps {
  readonly total: number;
  readonly filter: DeliveryFilter;
  readonly onChange: (filter: DeliveryFilter) => void;
}

function Pages({ total, filter, onChange }: PagesProps) {
  const { t } = useTranslation('profile');
  if (total <= deliveriesPerPage) return null;
  const go = (offset: number): void => onChange({ ...filter, offset });
  const last = Math.min(total, filter.offset + deliveriesPerPage);
  return (
    <Group mt="sm" justify="space-between">
      <Button
        size="compact-sm"
        variant="default"
        disabled={filter.offset === 0}
        onClick={() => go(Math.max(0, filter.offset - deliveriesPerPage))}
      >
        {t('webhooks.newer')}
      </Button>
      <Text size="sm">{t('webhooks.range', { from: filter.offset + 1, to: last, total })}</Text>
      <Button
        size="compact-sm"
        variant="default"
        disabled={last >= total}
        onClick={() => go(filter.offset + deliveriesPerPage)}
      >
        {t('webhooks.older')}
      </Button>
    </Group>
  );
}
