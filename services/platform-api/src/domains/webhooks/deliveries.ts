import { BusError, type RequestOptions, request, webhookRequests } from '@fleet/bus';
import { AppError, hourMs, type Page, type Pagination, parseSort, type RequestContext } from '@fleet/service-kit';
import {
  type AttemptRecord,
  currentHealth,
  type DeliveryBucket,
  type DeliveryRecord,
  type DeliveryStats,
  type DeliverySummary,
} from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import { requireKnownFilter, requireKnownType } from '../notifications/rules.ts';
import {
  type ListDeliveriesQuery,
  type ReplayBody,
  replayedStatuses,
  type StatsQuery,
  type TestBody,
} from './delivery-schema.ts';
import { toStatus } from './rules.ts';
import { webhookRepository } from './store.ts';
import { auditWebhook, getWebhook } from './use-cases.ts';

type DeliveryDeps = Pick<Deps, 'records' | 'database' | 'bus' | 'limits' | 'log'>;

/** An attempt may take 15 s, and its name lookup 5 s more. */
const testTimeoutMs = 25_000;
const requestTimeoutMs = 15_000;

/** Returns a page of the deliveries of one of the caller's webhooks. */
export async function listDeliveries(
  deps: DeliveryDeps,
  caller: Caller,
  id: number,
  query: ListDeliveriesQuery,
  paging: Pagination,
): Promise<Page<DeliverySummary>> {
  await getWebhook(deps, caller, id);
  const { status, type, imei, from, to } = query;
  if (type !== undefined) requireKnownFilter([type]);
  const filter = {
    status,
    type,
    imeiKey: imei?.replace(/^0+(?=.)/, ''),
    fromMs: parseTimestamp(from, 'from')?.getTime(),
    toMs: parseTimestamp(to, 'to')?.getTime(),
  };
  const { field, direction } = parseSort(query.sort);
  const order = { field: field === 'created_at' ? ('createdAtMs' as const) : ('number' as const), direction };
  return webhookRepository(deps).deliveries.list(id, filter, { ...paging, order });
}

export async function getDelivery(
  deps: DeliveryDeps,
  caller: Caller,
  id: number,
  deliveryId: string,
): Promise<DeliveryRecord> {
  await getWebhook(deps, caller, id);
  const delivery = await webhookRepository(deps).deliveries.find(deliveryId);
  if (delivery?.webhookId !== id) throw deliveryNotFound();
  return delivery;
}

/** Sends a test immediately, whatever the state of the webhook, and returns the attempt. */
export async function testWebhook(
  deps: DeliveryDeps,
  caller: Caller,
  id: number,
  { notification_type }: TestBody,
  context: RequestContext,
): Promise<AttemptRecord> {
  const webhook = await getWebhook(deps, caller, id);
  requireKnownType(notification_type, '/notification_type');
  await deps.limits.consume('webhookTest', `webhook:${id}`, context);
  const requested = { webhookId: id, notificationType: notification_type };
  const { attempt } = await withTimeout(
    request(deps.bus, webhookRequests.test, requested, toRequestOptions(context, testTimeoutMs)),
  );
  if (attempt === null) throw new AppError('not_found', 'There is no such webhook.');
  await auditWebhook(deps, caller, 'webhooks.test', webhook);
  return attempt as AttemptRecord;
}

/** Retries a delivery; returns it in its new state. */
export async function retryDelivery(
  deps: DeliveryDeps,
  caller: Caller,
  id: number,
  deliveryId: string,
  context: RequestContext,
): Promise<DeliveryRecord> {
  const webhook = await getWebhook(deps, caller, id);
  await getDelivery(deps, caller, id, deliveryId);
  await deps.limits.consume('webhookTest', `webhook:${id}`, context);
  const requested = { webhookId: id, deliveryId };
  const { result } = await withTimeout(
    request(deps.bus, webhookRequests.retry, requested, toRequestOptions(context, requestTimeoutMs)),
  );
  if (result === 'unknown') throw deliveryNotFound();
  if (result === 'running')
    throw new AppError('state_conflict', 'An attempt of this delivery is in progress. Retry later.');
  await auditWebhook(deps, caller, 'webhooks.retry', webhook);
  return getDelivery(deps, caller, id, deliveryId);
}

/** Queues undelivered notifications of a time span, oldest first; returns their number. */
export async function replayDeliveries(
  deps: DeliveryDeps,
  caller: Caller,
  id: number,
  { since, until, statuses }: ReplayBody,
  context: RequestContext,
): Promise<number> {
  const webhook = await getWebhook(deps, caller, id);
  const health = currentHealth(webhook, await webhookRepository(deps).findHealth(id));
  if (toStatus(webhook, health) === 'disabled')
    throw new AppError('state_conflict', 'The webhook is disabled. Enable it first.');
  const requested = {
    webhookId: id,
    sinceMs: parseTimestamp(since, 'since')?.getTime() ?? 0,
    untilMs: parseTimestamp(until, 'until')?.getTime() ?? null,
    statuses: [...new Set(statuses ?? replayedStatuses)],
  };
  await deps.limits.consume('webhookTest', `webhook:${id}`, context);
  const { queued } = await withTimeout(
    request(deps.bus, webhookRequests.replay, requested, toRequestOptions(context, requestTimeoutMs)),
  );
  await auditWebhook(deps, caller, 'webhooks.replay', webhook);
  return queued;
}

/** Statistics of a webhook; the series is null unless it was requested. */
export interface WebhookStats {
  readonly stats: DeliveryStats;
  readonly series: readonly DeliveryBucket[] | null;
}

const defaultHours = 24;

/** Returns statistics of the deliveries of the last hours. */
export async function webhookStats(
  deps: DeliveryDeps,
  caller: Caller,
  id: number,
  { hours = defaultHours, buckets }: StatsQuery,
  nowMs = Date.now(),
): Promise<WebhookStats> {
  await getWebhook(deps, caller, id);
  const { deliveries } = webhookRepository(deps);
  const sinceMs = nowMs - hours * hourMs;
  return {
    stats: await deliveries.stats(id, sinceMs),
    series: buckets === undefined ? null : await deliveries.series(id, { sinceMs, untilMs: nowMs, buckets }),
  };
}

async function withTimeout<T>(pending: Promise<T>): Promise<T> {
  try {
    return await pending;
  } catch (cause) {
    if (!(cause instanceof BusError) || cause.kind === 'invalid') throw cause;
    throw new AppError('unavailable', 'Webhooks are not delivered at the moment. Retry.', { cause });
  }
}

const toRequestOptions = ({ requestId }: RequestContext, timeoutMs: number): RequestOptions => ({
  timeoutMs,
  correlationId: requestId,
});

const deliveryNotFound = (): AppError => new AppError('not_found', 'There is no such delivery.');
