import { currentHealth, type WebhookHealth } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import { statusOf } from './rules.ts';
import type { Webhook, WebhookResponse } from './schema.ts';
import { webhookRecordsOf } from './store.ts';

const response = (webhook: Webhook, health: WebhookHealth): WebhookResponse => ({
  ...toRecordResponse(webhook),
  url: webhook.url,
  name: webhook.name,
  enabled: webhook.enabled,
  notification_types: [...webhook.notificationTypes],
  vehicle_ids: [...webhook.vehicleIds],
  headers: Object.fromEntries(webhook.headers.map(({ name, value }) => [name, value])),
  status: statusOf(webhook, health),
  disabled_reason: health.disabledReason,
  secret_hint: webhook.secretHint,
  failing_since: formatTime(health.failingSince),
  consecutive_failures: health.consecutiveFailures,
  last_success_at: formatTime(health.lastSuccessAt),
  last_failure_at: formatTime(health.lastFailureAt),
});

/** Converts webhooks with the health of their deliveries. */
export async function toWebhooksResponse(
  deps: Pick<Deps, 'database'>,
  webhooks: readonly Webhook[],
): Promise<WebhookResponse[]> {
  const health = await webhookRecordsOf(deps).findHealthByIds(webhooks.map(({ _id }) => _id));
  return webhooks.map((webhook) => response(webhook, currentHealth(webhook, health.get(webhook._id))));
}

/** Converts a webhook with the health of its deliveries. */
export async function toWebhookResponse(
  { database }: Pick<Deps, 'database'>,
  webhook: Webhook,
): Promise<WebhookResponse> {
  return response(webhook, currentHealth(webhook, await webhookRecordsOf({ database }).findHealth(webhook._id)));
}
