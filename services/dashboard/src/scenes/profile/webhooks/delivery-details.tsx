import { Button, Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { CopyText } from '../../../common/ui/copy-text.tsx';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { toAdviceKey, toCurl, toOutcomeText } from './model.ts';
import { type Attempt, type DeliveryDetails, useDelivery, useRetryDelivery, type Webhook } from './queries.ts';

/** Shows the attempts of a delivery, each with advice, and the request that was sent. */
export function DeliveryDetailsPanel({ webhook, deliveryId }: { webhook: Webhook; deliveryId: string }) {
  const { t } = useTranslation('profile');
  const delivery = useDelivery(webhook.id, deliveryId);
  const retry = useRetryDelivery();
  if (delivery.isPending) return <Loading />;
  if (delivery.isError) return <Failure error={delivery.error} onRetry={() => void delivery.refetch()} />;
  if (delivery.data === undefined) return null;
  const { attempts, request, status } = delivery.data;
  return (
    <div className="delivery-details">
      <Group gap="sm">
        <Button
          size="compact-sm"
          disabled={status === 'pending'}
          loading={retry.isPending}
          onClick={() => retry.mutate({ id: webhook.id, deliveryId })}
        >
          {t('webhooks.retry')}
        </Button>
        {request === null ? null : <CopyText text={toCurl(webhook.url, request)} label={t('webhooks.copyCurl')} />}
      </Group>
      {retry.isError ? <Failure error={retry.error} /> : null}
      {attempts.length === 0 ? <Text c="dimmed">{t('webhooks.noAttempts')}</Text> : null}
      {attempts.toReversed().map((attempt) => (
        <AttemptView key={attempt.number} attempt={attempt} />
      ))}
      {request === null ? null : <RequestView request={request} />}
    </div>
  );
}

function AttemptView({ attempt }: { attempt: Attempt }) {
  const { t } = useTranslation('profile');
  const format = useFormat();
  const outcome = t('webhooks.outcome', { outcome: toOutcomeText(attempt), ms: attempt.duration_ms });
  return (
    <section className="attempt" aria-label={t('webhooks.attempt', { number: attempt.number })}>
      <strong>
        {t('webhooks.attempt', { number: attempt.number })}, {t(`webhooks.trigger.${attempt.trigger}`)}, {outcome}
      </strong>
      <p>
        <small>{format.exact(Date.parse(attempt.started_at))}</small>
      </p>
      <p>{t(`webhooks.advice.${toAdviceKey(attempt)}`)}</p>
      {attempt.response_body === null || attempt.response_body === '' ? null : (
        <>
          <Text size="sm" c="dimmed">
            {t('webhooks.response')}
          </Text>
          <pre className="exchange" tabIndex={0}>
            {attempt.response_body}
          </pre>
        </>
      )}
    </section>
  );
}

function RequestView({ request }: { request: NonNullable<DeliveryDetails['request']> }) {
  const { t } = useTranslation('profile');
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <section aria-label={t('webhooks.request')}>
      <Text size="sm" c="dimmed">
        {t('webhooks.request')}
      </Text>
      <pre className="exchange" tabIndex={0}>{`${headers.join('\n')}\n\n${request.body}`}</pre>
    </section>
  );
}
