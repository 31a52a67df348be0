import { shownRecord, shownTime } from '../../schemas.ts';
import { statusOf } from './rules.ts';
import type { Webhook, WebhookShown } from './schema.ts';

export const shownWebhook = (webhook: Webhook): WebhookShown => ({
  ...shownRecord(webhook),
  url: webhook.url,
  name: webhook.name,
  enabled: webhook.enabled,
  notification_types: [...webhook.notificationTypes],
  vehicle_ids: [...webhook.vehicleIds],
  headers: Object.fromEntries(webhook.headers.map(({ name, value }) => [name, value])),
  status: statusOf(webhook),
  disabled_reason: webhook.disabledReason,
  secret_hint: webhook.secretHint,
  failing_since: shownTime(webhook.failingSince),
  consecutive_failures: webhook.consecutiveFailures,
  last_success_at: shownTime(webhook.lastSuccessAt),
  last_failure_at: shownTime(webhook.lastFailureAt),
});
