import { currentHealth, type WebhookHealth } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import { statusOf } from './rules.ts';
import type { Webhook, WebhookShown } from './schema.ts';
import { webhookRecordsOf } from './store.ts';

const shown = (webhook: Webhook, health: WebhookHealth): WebhookShown => ({
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

/** Webhooks with what deliveries have shown of them. */
export async function shownWebhooks(
  deps: Pick<Deps, 'database'>,
  webhooks: readonly Webhook[],
): Promise<WebhookShown[]> {
  const health = await webhookRecordsOf(deps).findHealthByIds(webhooks.map(({ _id }) => _id));
  return webhooks.map((webhook) => shown(webhook, currentHealth(webhook, health.get(webhook._id))));
}

/** A webhook with what deliveries have shown of it. */
export async function shownWebhook({ database }: Pick<Deps, 'database'>, webhook: Webhook): Promise<WebhookShown> {
  return shown(webhook, currentHealth(webhook, await webhookRecordsOf({ database }).findHealth(webhook._id)));
}
