import {
  AppError,
  hourMs,
  type Page,
  type Pagination,
  type Sort,
  SsrfGuard,
  validationError,
} from '@fleet/service-kit';
import { webhookSecretPurpose } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Config } from '../../assembly/config.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound, omitUndefined } from '../../platform/fields.ts';
import type { Change, Scope } from '../../store/account-repository.ts';
import { insertWithinQuota } from '../../store/quota.ts';
import { audit } from '../audit/use-cases.ts';
import { requireKnownTypes } from '../notifications/rules.ts';
import { visibleVehicleIds } from '../vehicles/visibility.ts';
import { createSecret, secretHint, toStoredHeaders } from './rules.ts';
import { type CreateBody, maxWebhooks, type RegenerateBody, type UpdateBody, type Webhook } from './schema.ts';
import { webhookCollection, webhookRepository } from './store.ts';

type WebhookDeps = Pick<Deps, 'config' | 'records' | 'database' | 'encryption' | 'redis' | 'log'>;

/** Creates the guard of webhook addresses from the settings. */
const webhookGuard = (config: Pick<Config, 'WEBHOOK_ALLOW_HTTP' | 'WEBHOOK_ALLOWED_CIDRS'>): SsrfGuard =>
  new SsrfGuard({
    allowHttp: config.WEBHOOK_ALLOW_HTTP,
    allowedCidrs: config.WEBHOOK_ALLOWED_CIDRS.split(',')
      .map((network) => network.trim())
      .filter((network) => network !== ''),
  });

/** Returns a page of the caller's own webhooks. */
export const listWebhooks = (
  { records }: Pick<Deps, 'records'>,
  caller: Caller,
  options: { readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<Webhook>> => webhookCollection(records).list(caller, { where: { userId: caller.userId }, ...options });

export async function getWebhook({ records }: Pick<Deps, 'records'>, caller: Caller, id: number): Promise<Webhook> {
  const webhook = await webhookCollection(records).findOne(caller, { _id: id, userId: caller.userId });
  if (webhook === null) throw notFound();
  return webhook;
}

/** Creates a webhook and returns its secret, which is not returned again. */
export async function createWebhook(
  deps: WebhookDeps,
  caller: Caller,
  body: CreateBody,
): Promise<{ webhook: Webhook; secret: string }> {
  const webhooks = webhookCollection(deps.records);
  const checked = await validateFields(deps, caller, body);
  const { userId } = caller;
  const secret = body.secret ?? createSecret();
  const fields = {
    userId,
    name: null,
    enabled: true,
    notificationTypes: [],
    vehicleIds: [],
    headers: [],
    ...checked,
    url: body.url,
    ...sealSecret(deps, userId, secret),
    sealedOldSecret: null,
    graceUntil: null,
    healthEpoch: 0,
  };
  const webhook = await insertWithinQuota(
    deps.database,
    {
      name: `webhooks of user ${userId}`,
      limit: maxWebhooks,
      message: `Webhook limit reached: a user may have ${maxWebhooks} webhooks.`,
    },
    () => webhooks.count(caller, { userId }),
    () => webhooks.insert(caller, fields),
  );
  await auditWebhook(deps, caller, 'webhooks.create', webhook);
  return { webhook, secret };
}

export async function updateWebhook(
  deps: WebhookDeps,
  caller: Caller,
  id: number,
  body: UpdateBody,
  expectedVersion?: number,
): Promise<Webhook> {
  const { userId, healthEpoch } = await getWebhook(deps, caller, id);
  const change: Change<Webhook> = {
    ...(await validateFields(deps, caller, body)),
    ...(body.secret === undefined
      ? {}
      : { ...sealSecret(deps, userId, body.secret), sealedOldSecret: null, graceUntil: null }),
    ...(body.enabled === true ? { healthEpoch: healthEpoch + 1 } : {}),
  };
  const webhook = await webhookCollection(deps.records).update(caller, id, change, expectedVersion);
  if (webhook === null) throw notFound();
  await auditWebhook(deps, caller, 'webhooks.update', webhook);
  return webhook;
}

export async function removeWebhook(
  deps: WebhookDeps,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<Webhook> {
  await getWebhook(deps, caller, id);
  const removed = await webhookCollection(deps.records).remove(caller, id, { expectedVersion });
  if (removed === null) throw notFound();
  await webhookRepository(deps).cancelAll(id);
  await auditWebhook(deps, caller, 'webhooks.delete', removed);
  return removed;
}

/** Replaces the secret of a webhook. During the grace period, `X-Webhook-Secret` still carries the old one. */
export async function regenerateSecret(
  deps: WebhookDeps,
  caller: Caller,
  id: number,
  body: RegenerateBody,
  now = new Date(),
): Promise<{ webhook: Webhook; secret: string }> {
  const before = await getWebhook(deps, caller, id);
  const secret = body.secret ?? createSecret();
  const grace =
    body.grace_hours === 0
      ? { sealedOldSecret: null, graceUntil: null }
      : {
          sealedOldSecret: before.sealedSecret,
          graceUntil: new Date(now.getTime() + body.grace_hours * hourMs),
        };
  const webhook = await webhookCollection(deps.records).update(caller, id, {
    ...sealSecret(deps, before.userId, secret),
    ...grace,
  });
  if (webhook === null) throw notFound();
  await auditWebhook(deps, caller, 'webhooks.regenerate_secret', webhook);
  return { webhook, secret };
}

/** Validates the fields of a body that are stored unchanged, and returns their stored form. */
async function validateFields(deps: WebhookDeps, caller: Caller, body: UpdateBody): Promise<Change<Webhook>> {
  if (body.notification_types !== undefined) requireKnownTypes(body.notification_types, '/notification_types');
  if (body.vehicle_ids !== undefined && body.vehicle_ids.length > 0)
    assertAllFound('vehicle', body.vehicle_ids, await visibleVehicleIds(deps, caller, body.vehicle_ids));
  if (body.url !== undefined) await assertUrlAllowed(deps, body.url);
  return omitUndefined({
    url: body.url,
    name: body.name,
    enabled: body.enabled,
    notificationTypes: body.notification_types && [...new Set(body.notification_types)],
    vehicleIds: body.vehicle_ids && [...new Set(body.vehicle_ids)],
    headers: body.headers && toStoredHeaders(body.headers),
  });
}

async function assertUrlAllowed({ config }: Pick<Deps, 'config'>, url: string): Promise<void> {
  const verdict = await webhookGuard(config).check(url);
  if (verdict.kind !== 'allowed') throw validationError([{ path: '/url', message: verdict.reason }]);
}

const sealSecret = ({ encryption }: Pick<Deps, 'encryption'>, userId: number, secret: string) => ({
  sealedSecret: encryption.seal(secret, webhookSecretPurpose(userId)),
  secretHint: secretHint(secret),
});

/** Records an action on a webhook in the audit log. */
export const auditWebhook = (
  deps: Pick<Deps, 'records' | 'log'>,
  caller: Caller,
  action: string,
  { _id }: Pick<Webhook, '_id'>,
): Promise<void> => audit(deps, caller, action, { type: 'webhooks', id: _id });

const notFound = (): AppError => new AppError('not_found', 'There is no such webhook.');

/** Disables the webhooks of a user who lost the permission to have them. A user who regains it enables them again. */
export async function disableWebhooksOfUser(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  userId: number,
): Promise<void> {
  await webhookCollection(records).updateMany(scope, { userId, enabled: true }, { $set: { enabled: false } });
}

/** Removes the webhooks of a removed user. */
export async function removeWebhooksOfUser(
  deps: Pick<Deps, 'records' | 'database'>,
  scope: Scope,
  userId: number,
): Promise<void> {
  const webhooks = webhookCollection(deps.records);
  for (const { _id } of await webhooks.all(scope, { userId })) {
    await webhooks.remove(scope, _id);
    await webhookRepository(deps).cancelAll(_id);
  }
}

/**
 * Removes a deleted vehicle from all webhooks. The last vehicle of a list is retained although it no longer exists: a
 * webhook with an empty list would receive the notifications of every vehicle.
 */
export async function dropVehicleFromWebhooks(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  id: number,
): Promise<void> {
  // Part of the update, so that of two concurrent removals one finds the last vehicle.
  const isNotLast = { vehicleIds: { $not: { $size: 1 } } };
  const where = { $and: [{ vehicleIds: id }, isNotLast] };
  await webhookCollection(records).updateMany(scope, where, { $pull: { vehicleIds: id } });
}
