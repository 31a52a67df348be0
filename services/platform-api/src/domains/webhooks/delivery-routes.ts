import { pageResponse, pageSchema, parsePagination, Reply, singleSchema } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams } from '../../platform/schemas.ts';
import {
  getDelivery,
  listDeliveries,
  replayDeliveries,
  retryDelivery,
  testWebhook,
  webhookStats,
} from './deliveries.ts';
import { toAttemptResponse, toDeliveryResponse, toDetailsResponse, toStatsResponse } from './delivery-responses.ts';
import {
  attemptResponseSchema,
  deliveryDetails,
  deliveryParams,
  deliveryResponseSchema,
  listDeliveriesQuery,
  replayBody,
  replayResponseSchema,
  statsQuery,
  statsResponseSchema,
  testBody,
} from './delivery-schema.ts';

const one = '/user-webhooks/:id';
const common = {
  tags: ['Webhooks'],
  access: { permission: 'webhooks', scope: 'webhook' },
} as const;

export const deliveryRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...common,
    method: 'post',
    path: `${one}/test`,
    operationId: 'testWebhook',
    summary: 'Send a test delivery',
    description: 'Sends a test immediately and returns the attempt, which is not stored.',
    params: idParams,
    body: testBody,
    bodyIsOptional: true,
    response: singleSchema(attemptResponseSchema),
    handle: async ({ params, body, context }) => ({
      data: toAttemptResponse(await testWebhook(deps, getCaller(context), params.id, body, context)),
    }),
  }),
  platformRoute({
    ...common,
    method: 'get',
    path: `${one}/deliveries`,
    operationId: 'listDeliveries',
    summary: 'List deliveries of a webhook',
    description: 'Newest first. Deliveries are stored for 30 days.',
    params: idParams,
    query: listDeliveriesQuery,
    response: pageSchema(deliveryResponseSchema),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listDeliveries(deps, getCaller(context), params.id, query, paging);
      return pageResponse({ items: items.map(toDeliveryResponse), total }, paging);
    },
  }),
  platformRoute({
    ...common,
    method: 'get',
    path: `${one}/deliveries/:deliveryId`,
    operationId: 'getDelivery',
    summary: 'Get a delivery',
    description: 'Includes the request and the attempts.',
    params: deliveryParams,
    response: singleSchema(deliveryDetails),
    handle: async ({ params, context }) => ({
      data: toDetailsResponse(await getDelivery(deps, getCaller(context), params.id, params.deliveryId)),
    }),
  }),
  platformRoute({
    ...common,
    method: 'post',
    path: `${one}/deliveries/:deliveryId/retry`,
    operationId: 'retryDelivery',
    summary: 'Retry a delivery',
    description: 'Starts immediately, with as many attempts as a new delivery.',
    params: deliveryParams,
    response: singleSchema(deliveryResponseSchema),
    extraSuccesses: { 202: 'Queued.' },
    errors: { 409: 'An attempt of this delivery is in progress.' },
    handle: async ({ params, context }) => {
      const delivery = await retryDelivery(deps, getCaller(context), params.id, params.deliveryId, context);
      return new Reply(202, { data: toDeliveryResponse(delivery) });
    },
  }),
  platformRoute({
    ...common,
    method: 'post',
    path: `${one}/replay`,
    operationId: 'replayDeliveries',
    summary: 'Replay deliveries',
    description: 'Queues the failed or skipped deliveries of a time span, oldest first, ten per second.',
    params: idParams,
    body: replayBody,
    response: singleSchema(replayResponseSchema),
    extraSuccesses: { 202: 'Queued; at most 10,000 deliveries.' },
    errors: { 409: 'The webhook is disabled.' },
    handle: async ({ params, body, context }) => {
      const queued = await replayDeliveries(deps, getCaller(context), params.id, body, context);
      return new Reply(202, { data: { queued } });
    },
  }),
  platformRoute({
    ...common,
    method: 'get',
    path: `${one}/stats`,
    operationId: 'getWebhookStats',
    summary: 'Get delivery statistics',
    description: 'Covers the last 24 hours, or `hours`.',
    params: idParams,
    query: statsQuery,
    response: singleSchema(statsResponseSchema),
    handle: async ({ params, query, context }) => ({
      data: toStatsResponse(await webhookStats(deps, getCaller(context), params.id, query)),
    }),
  }),
];
