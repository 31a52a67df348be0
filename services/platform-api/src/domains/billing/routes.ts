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
  502: 'The payment gateway did not accept the request.',
  503: 'The payment gateway is not configured, or the gateway or a backend is unavailable.',
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
    summary: 'Create a billing portal link',
    description:
      'Returns a link to the page where the customer sees and changes subscriptions. It is valid for a few minutes.',
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
    summary: 'Show the billing page',
    description: 'The page behind a link of billing-portal, for gateways without their own portal.',
    query: Type.Object({ ticket: Type.String({ minLength: 1, maxLength: 4_096 }) }),
    contentType: 'text/html',
    errors: { 401: 'The link is invalid or has expired. Request a new one.' },
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
    summary: 'List subscription plans',
    description: 'Returns the plans that can be ordered with their prices, in the order of the plan file.',
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
    summary: 'Order a plan for vehicles',
    description:
      'Orders a number of months of a plan. The server computes the price. An order that is not paid within 30 minutes expires. Use an Idempotency-Key.',
    isIdempotent: true,
    body: createOrderBody,
    response: singleSchema(orderResponse),
    extraSuccesses: { 201: 'Created; `Location` is the path of the order.' },
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
    summary: 'List orders',
    description: 'Returns the orders of the account.',
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
    summary: 'Get an order',
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
    summary: 'Mark an order paid',
    description: 'For an order that was paid outside of any gateway (PAYMENT_GATEWAY=offline).',
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
    summary: 'Verify a payment',
    description:
      'Submits the proof of payment that the client received from the gateway. Razorpay: `signature` is the hex HMAC-SHA256 of gateway_order_id|payment_id. Stripe: the server queries the gateway.',
    body: verifyPaymentBody,
    response: singleSchema(orderResponse),
    errors: {
      ...ofGateway,
      404: 'The order does not exist.',
      409: 'The order belongs to another gateway or is paid offline.',
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
    summary: 'Receive an event of a gateway',
    description: 'The gateway signs the raw body of the event.',
    params: Type.Object({
      gateway: Type.Unsafe<'stripe' | 'razorpay'>({ type: 'string', enum: ['stripe', 'razorpay'] }),
    }),
    readBody: (bytes) => bytes,
    response: Type.Object({ received: Type.Boolean(), duplicate: Type.Boolean() }),
    errors: {
      401: 'The signature is not valid, or the gateway is not configured.',
      404: 'The gateway does not exist.',
      413: 'The body is too large.',
    },
    handle: async ({ params, context }) => {
      const isNew = await handleGatewayEvent(deps, params.gateway, getRawBody(context), context.request.headers);
      return { received: true, duplicate: !isNew };
    },
  }),
];
