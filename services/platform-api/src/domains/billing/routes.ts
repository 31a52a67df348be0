import {
  getRawBody,
  pageResponse,
  pageSchema,
  paginationQuery,
  parsePagination,
  Reply,
  singleSchema,
  sortParameter,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { sortItems, stringEnum, toSorting } from '../../platform/fields.ts';
import { idParams } from '../../platform/schemas.ts';
import { createPortal, renderBillingPage } from './portal.ts';
import { toOrderResponse, toPlanResponses } from './responses.ts';
import {
  createOrderBody,
  orderResponse,
  orderStatuses,
  planResponse,
  portalQuery,
  portalResponse,
  verifyPaymentBody,
} from './schema.ts';
import { createOrder, handleGatewayEvent, listOrders, markPaid, readOrder, verifyPayment } from './use-cases.ts';

const common = { tags: ['Subscriptions'] } as const;
const billing = { permission: 'billing' } as const;
const ofGateway = {
  502: 'The payment gateway did not take the request.',
  503: 'The payment gateway is not configured, or cannot be reached; or a backend cannot.',
} as const;

export const billingRoutes = (deps: Deps): PlatformRoute[] => [
  ...portalRoutes(deps),
  ...orderRoutes(deps),
  ...paymentRoutes(deps),
];

const portalRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...common,
    access: billing,
    method: 'get',
    path: '/subscriptions/billing-portal',
    operationId: 'getBillingPortal',
    summary: 'Where the customer sees and changes what is paid: a link that is good for some minutes',
    query: portalQuery,
    response: singleSchema(portalResponse),
    errors: ofGateway,
    handle: async ({ query, context }) => {
      const { url, provider, expiresAt } = await createPortal(deps, getCaller(context), query.return_url);
      return { data: { url, provider, expires_at: expiresAt.toISOString() } };
    },
  }),
  platformRoute({
    ...common,
    access: { credentials: 'none' },
    method: 'get',
    path: '/subscriptions/billing-page',
    operationId: 'getBillingPage',
    summary: 'The page behind a link of billing-portal, where the gateway has none of its own',
    query: Type.Object({ ticket: Type.String({ minLength: 1, maxLength: 4_096 }) }),
    contentType: 'text/html',
    errors: { 401: 'The link is not valid, or not any more.' },
    handle: async ({ query, context }) => {
      const html = await renderBillingPage(deps, query.ticket);
      context.response
        .set('Cache-Control', 'no-store')
        .set('Referrer-Policy', 'no-referrer')
        .set('Content-Security-Policy', "default-src 'none'")
        .type('html')
        .send(html);
    },
  }),
  platformRoute({
    ...common,
    method: 'get',
    path: '/subscriptions/plans',
    isStatic: true,
    operationId: 'listPlans',
    summary: 'Plans that can be ordered, with their prices, in the order of the plan file',
    query: Type.Object({ ...paginationQuery, sort: sortParameter(['id', 'key', 'name'], { default: 'id' }) }),
    response: pageSchema(planResponse),
    handle: async ({ query }) => {
      const paging = parsePagination(query);
      const plans = sortItems(toPlanResponses(deps.billing.plans), toSorting(query.sort), ({ id }) => id, {
        key: ({ key }) => key,
        name: ({ name }) => name,
      });
      const items = plans.slice(paging.offset, paging.offset + paging.limit);
      return pageResponse({ items, total: plans.length }, paging);
    },
  }),
];

const orderRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...common,
    access: billing,
    method: 'post',
    path: '/subscription/create-gateway-order',
    operationId: 'createGatewayOrder',
    summary: 'Order months of a plan for vehicles; the price is computed here',
    description: 'An order that is not paid within 30 minutes expires. An Idempotency-Key is advised.',
    isIdempotent: true,
    body: createOrderBody,
    response: singleSchema(orderResponse),
    extraSuccesses: { 201: 'Made; `Location` is the path of the order.' },
    errors: {
      ...ofGateway,
      404: 'One of the vehicles does not exist in the account.',
      409: 'A request with this Idempotency-Key is running.',
      422: 'The Idempotency-Key was used with another body.',
    },
    handle: async ({ body, context }) => {
      const { order, clientSecret } = await createOrder(deps, getCaller(context), body);
      const location = { Location: `/api/subscription/orders/${order._id}` };
      return new Reply(201, { data: toOrderResponse(order, clientSecret) }, location);
    },
  }),
  platformRoute({
    ...common,
    access: billing,
    method: 'get',
    path: '/subscription/orders',
    operationId: 'listOrders',
    summary: 'Orders of the account',
    query: Type.Object({
      ...paginationQuery,
      sort: sortParameter(['id', 'created_at']),
      status: Type.Optional(stringEnum(orderStatuses)),
    }),
    response: pageSchema(orderResponse),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listOrders(deps, getCaller(context), query, paging);
      return pageResponse({ items: items.map((order) => toOrderResponse(order)), total }, paging);
    },
  }),
  platformRoute({
    ...common,
    access: billing,
    method: 'get',
    path: '/subscription/orders/:id',
    operationId: 'getOrder',
    summary: 'One order',
    params: idParams,
    response: singleSchema(orderResponse),
    handle: async ({ params, context }) => ({
      data: toOrderResponse(await readOrder(deps, getCaller(context), params.id)),
    }),
  }),
  platformRoute({
    ...common,
    access: { permission: 'administration' },
    method: 'post',
    path: '/subscription/orders/:id/mark-paid',
    operationId: 'markOrderPaid',
    summary: 'Note that an order was paid outside of any gateway (PAYMENT_GATEWAY=offline)',
    params: idParams,
    response: singleSchema(orderResponse),
    errors: { 409: 'The order has expired, was refunded, or is paid by its gateway.' },
    handle: async ({ params, context }) => ({
      data: toOrderResponse(await markPaid(deps, getCaller(context), params.id)),
    }),
  }),
];

const paymentRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...common,
    access: billing,
    method: 'post',
    path: '/subscription/verify-payment',
    operationId: 'verifyPayment',
    summary: 'Show a proof of payment that the gateway gave to the client',
    description:
      'Razorpay: `signature` is the hex HMAC-SHA256 of gateway_order_id|payment_id. Stripe: the gateway itself is asked.',
    body: verifyPaymentBody,
    response: singleSchema(orderResponse),
    errors: {
      ...ofGateway,
      404: 'There is no such order.',
      409: 'The order is one of another gateway, or is paid offline.',
    },
    handle: async ({ body, context }) => ({
      data: toOrderResponse(await verifyPayment(deps, getCaller(context), body)),
    }),
  }),
  platformRoute({
    ...common,
    access: { credentials: 'none' },
    method: 'post',
    path: '/subscription/gateway-webhook/:gateway',
    operationId: 'takeGatewayEvent',
    summary: 'Events of a payment gateway, signed by it over the raw body',
    params: Type.Object({
      gateway: Type.Unsafe<'stripe' | 'razorpay'>({ type: 'string', enum: ['stripe', 'razorpay'] }),
    }),
    readBody: (bytes) => bytes,
    response: Type.Object({ received: Type.Boolean(), duplicate: Type.Boolean() }),
    errors: {
      401: 'The signature is not that of the gateway, or the gateway is not configured.',
      404: 'There is no such gateway.',
      413: 'The body is too large.',
    },
    handle: async ({ params, context }) => {
      const isNew = await handleGatewayEvent(deps, params.gateway, getRawBody(context), context.request.headers);
      return { received: true, duplicate: !isNew };
    },
  }),
];
