import {
  pageResponse,
  pageSchema,
  paginationQuery,
  parseIfMatch,
  parsePagination,
  Reply,
  singleSchema,
  sortParameter,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { idParams } from '../../platform/schemas.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { toWebhookResponse, toWebhookResponses } from './responses.ts';
import { createBody, regenerateBody, updateBody, webhookResponseSchema, webhookWithSecret } from './schema.ts';
import {
  createWebhook,
  getWebhook,
  listWebhooks,
  regenerateSecret,
  removeWebhook,
  updateWebhook,
} from './use-cases.ts';

const base = '/user-webhooks';
const common = {
  tags: ['Webhooks'],
  access: { permission: 'webhooks', scope: 'webhook' },
} as const;

export const webhookRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...common,
    method: 'get',
    path: base,
    operationId: 'listWebhooks',
    summary: "List the caller's webhooks",
    query: Type.Object({ ...paginationQuery, sort: sortParameter(['id', 'name', 'created_at']) }),
    response: pageSchema(webhookResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listWebhooks(deps, getCaller(context), {
        sorting: toSorting(query.sort, { created_at: 'createdAt' }),
        paging,
      });
      return pageResponse({ items: await toWebhookResponses(deps, items), total }, paging);
    },
  }),
  platformRoute({
    ...common,
    method: 'post',
    path: base,
    operationId: 'createWebhook',
    summary: 'Create a webhook',
    description: 'Notifications are sent to the URL. The secret is returned only once. A user can have ten webhooks.',
    isIdempotent: true,
    body: createBody,
    response: singleSchema(webhookWithSecret),
    extraSuccesses: { 201: 'Created; `Location` is the path of the webhook.' },
    errors: {
      404: 'One of the vehicles does not exist or is not visible to the caller.',
      409: 'Webhook limit reached.',
    },
    handle: async ({ body, context }) => {
      const { webhook, secret } = await createWebhook(deps, getCaller(context), body);
      const location = { Location: `/api${base}/${webhook._id}` };
      return new Reply(201, { data: { ...(await toWebhookResponse(deps, webhook)), secret } }, location);
    },
  }),
  platformRoute({
    ...common,
    method: 'get',
    path: `${base}/:id`,
    operationId: 'getWebhook',
    summary: 'Get a webhook',
    params: idParams,
    response: singleSchema(webhookResponseSchema),
    handle: async ({ params, context }) => ({
      data: await toWebhookResponse(deps, await getWebhook(deps, getCaller(context), params.id)),
    }),
  }),
  platformRoute({
    ...common,
    method: 'put',
    path: `${base}/:id`,
    operationId: 'updateWebhook',
    summary: 'Update a webhook',
    description: '`enabled: true` enables a disabled webhook and resets its failure counters.',
    params: idParams,
    body: updateBody,
    response: singleSchema(webhookResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, body, context }) => ({
      data: await toWebhookResponse(
        deps,
        await updateWebhook(deps, getCaller(context), params.id, body, parseIfMatch(context)),
      ),
    }),
  }),
  platformRoute({
    ...common,
    method: 'delete',
    path: `${base}/:id`,
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Pending deliveries are canceled.',
    params: idParams,
    response: singleSchema(webhookResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => ({
      data: await toWebhookResponse(
        deps,
        await removeWebhook(deps, getCaller(context), params.id, parseIfMatch(context)),
      ),
    }),
  }),
  platformRoute({
    ...common,
    method: 'post',
    path: `${base}/:id/regenerate-secret`,
    operationId: 'regenerateWebhookSecret',
    summary: 'Regenerate the secret of a webhook',
    description: 'The new secret is returned only once.',
    isIdempotent: true,
    params: idParams,
    body: regenerateBody,
    bodyIsOptional: true,
    response: singleSchema(webhookWithSecret),
    handle: async ({ params, body, context }) => {
      const { webhook, secret } = await regenerateSecret(deps, getCaller(context), params.id, body);
      return { data: { ...(await toWebhookResponse(deps, webhook)), secret } };
    },
  }),
  ...deliveryRoutes(deps),
];
