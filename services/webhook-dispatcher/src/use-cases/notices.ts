import { type Bus, call, tellOfWebhook } from '@fleet/bus';
import type { WebhookHealth, WebhookRecords } from '@fleet/storage';
import type { HealthKeeper } from '../store/health-keeper.ts';

/** What owners are told with. */
export interface NoticeParts {
  readonly bus: Bus;
  readonly records: WebhookRecords;
  readonly health: HealthKeeper;
}

const askLimitMs = 10_000;

/** Has the owner of a webhook told that it fails, or was disabled; what can not be told now is told later, and once. */
export async function tellOwner({ bus, health }: NoticeParts, { _id, dueNotice }: WebhookHealth): Promise<void> {
  if (dueNotice === null) return;
  await call(bus, tellOfWebhook, { webhookId: _id, ...dueNotice }, { timeoutMs: askLimitMs });
  await health.change(_id, (now) => (now.dueNotice?.percent === dueNotice.percent ? { ...now, dueNotice: null } : now));
}

/** Tells what has not been told. */
export async function tellOwners(parts: NoticeParts): Promise<void> {
  for (const health of await parts.records.withDueNotice()) await tellOwner(parts, health);
}
