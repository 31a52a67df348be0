import { Badge, Button, Group } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Age } from '../../../common/ui/age.tsx';
import { useWebhookStats, type Webhook } from './queries.ts';
import { SeriesChart } from './series-chart.tsx';
import type { WebhookDialog } from './webhooks-tab.tsx';

interface WebhookCardProps {
  readonly webhook: Webhook;
  readonly isEnabling: boolean;
  readonly onOpen: (dialog: WebhookDialog) => void;
  readonly onList: () => void;
  readonly onEnable: () => void;
}

/** Shows one webhook: address, state, what it delivered in the last day, and its actions. */
export function WebhookCard({ webhook, isEnabling, onOpen, onList, onEnable }: WebhookCardProps) {
  const { t } = useTranslation('profile');
  const small = { size: 'compact-sm', variant: 'default' } as const;
  return (
    <li className="card webhook-card" aria-label={webhook.name ?? webhook.url}>
      <div className="webhook-title">
        <strong>{webhook.name ?? new URL(webhook.url).host}</strong>
        <StatusBadge webhook={webhook} />
      </div>
      <code className="webhook-url">{webhook.url}</code>
      <Health webhook={webhook} />
      <Statistics id={webhook.id} />
      <Group gap="xs">
        {webhook.status === 'disabled' ? (
          <Button size="compact-sm" loading={isEnabling} onClick={onEnable}>
            {t('webhooks.enable')}
          </Button>
        ) : null}
        <Button {...small} onClick={() => onOpen('test')}>
          {t('webhooks.test')}
        </Button>
        <Button {...small} onClick={onList}>
          {t('webhooks.deliveries')}
        </Button>
        <Button {...small} onClick={() => onOpen('edit')}>
          {t('webhooks.edit')}
        </Button>
        <Button {...small} onClick={() => onOpen('regenerate')}>
          {t('webhooks.regenerate')}
        </Button>
        <Button size="compact-sm" variant="outline" color="critical" onClick={() => onOpen('delete')}>
          {t('common:action.delete')}
        </Button>
      </Group>
    </li>
  );
}

function StatusBadge({ webhook: { status, disabled_reason: reason } }: { webhook: Webhook }) {
  const { t } = useTranslation('profile');
  if (status === 'active') return <Badge variant="default">{t('webhooks.status.active')}</Badge>;
  const reasonText = reason === 'failing' || reason === 'gone' ? t(`webhooks.reason.${reason}`) : null;
  return (
    <Badge variant="outline" color="critical">
      {reasonText === null ? t(`webhooks.status.${status}`) : t('webhooks.disabledBecause', { reason: reasonText })}
    </Badge>
  );
}

function Health({ webhook }: { webhook: Webhook }) {
  const { t } = useTranslation('profile');
  const times = [
    [t('webhooks.failingSince'), webhook.failing_since],
    [t('webhooks.lastSuccess'), webhook.last_success_at],
    [t('webhooks.lastFailure'), webhook.last_failure_at],
  ] as const;
  const known = times.filter(([, time]) => time !== null);
  if (known.length === 0) return null;
  return (
    <p className="webhook-times">
      {known.map(([name, time]) => (
        <span key={name}>
          {name} <Age timeMs={Date.parse(time ?? '')} />
        </span>
      ))}
    </p>
  );
}

function Statistics({ id }: { id: number }) {
  const { t, i18n } = useTranslation('profile');
  const { data: stats } = useWebhookStats(id);
  if (stats === undefined) return null;
  const number = new Intl.NumberFormat(i18n.language);
  const percent = new Intl.NumberFormat(i18n.language, { style: 'percent', maximumFractionDigits: 1 });
  const parts = [
    t('webhooks.stats.total', { total: number.format(stats.total) }),
    ...(stats.success_rate === null ? [] : [percent.format(stats.success_rate)]),
    ...(stats.p95_ms === null ? [] : [t('webhooks.stats.p95', { ms: number.format(stats.p95_ms) })]),
    ...(stats.pending === 0 ? [] : [t('webhooks.stats.pending', { pending: number.format(stats.pending) })]),
    ...(stats.skipped === 0 ? [] : [t('webhooks.stats.skipped', { skipped: number.format(stats.skipped) })]),
  ];
  return (
    <div className="webhook-stats">
      <span>{parts.join(', ')}</span>
      {stats.series === undefined || stats.total === 0 ? null : <SeriesChart series={stats.series} />}
    </div>
  );
}
