import { currentHealth, type WebhookHealth } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import { toStatus } from './rules.ts';
import type { Webhook, WebhookResponse } from './schema.ts';
import { webhookRepository } from './store.ts';

const toResponse = (webhook: Webhook, health: WebhookHealth): WebhookResponse => ({
  ...toRecordResponse(webhook),
  url: webhook.url,
  name: webhook.name,
  enabled: webhook.enabled,
  notification_types: [...webhook.notificationTypes],
  vehicle_ids: [...webhook.vehicleIds],
  headers: Object.fromEntries(webhook.headers.map(({ name, value }) => [name, value])),
  status: toStatus(webhook, health),
  disabled_reason: health.disabledReason,
  secret_hint: webhook.secretHint,
  failing_since: formatTime(health.failingSince),
  consecutive_failures: health.consecutiveFailures,
  last_success_at: formatTime(health.lastSuccessAt),
  last_failure_at: formatTime(health.lastFailureAt),
});

/** Converts webhooks with the health of their deliveries. */
export async function toWebhookResponses(
  deps: Pick<Deps, 'database'>,
  webhooks: readonly Webhook[],
): Promise<WebhookResponse[]> {
  const health = await webhookRepository(deps).findHealthByIds(webhooks.map(({ _id }) => _id));
  return webhooks.map((webhook) => toResponse(webhook, currentHealth(webhook, health.get(webhook._id))));
}

/** Converts a webhook with the health of its deliveries. */
export async function toWebhookResponse(
  { database }: Pick<Deps, 'database'>,
  webhook: Webhook,
): Promise<WebhookResponse> {
  return toResponse(webhook, currentHealth(webhook, await webhookRepository({ database }).findHealth(webhook._id)));
}
