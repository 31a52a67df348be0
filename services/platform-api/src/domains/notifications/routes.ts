import { pageResponse, pageSchema, parsePagination, type RequestContext, singleSchema } from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams, vehicleIdParams } from '../../platform/schemas.ts';
import { readPreferences as readUserPreferences } from '../preferences/use-cases.ts';
import { acknowledge, acknowledgeMany } from './acknowledge.ts';
import { readPreferences, type WantedNotifications, writePreferences } from './preferences.ts';
import { registerPushToken, removePushTokens } from './push-tokens.ts';
import { toTypeResponse } from './responses.ts';
import {
  acknowledgeBody,
  acknowledgeManyBody,
  acknowledgeManyResponseSchema,
  listQuery,
  type Notification,
  type NotificationResponse,
  notificationResponseSchema,
  preferencesBody,
  preferencesResponseSchema,
  pushTokenBody,
  pushTokenResponseSchema,
  summaryQuery,
  summaryResponseSchema,
  typeResponseSchema,
  vehicleListQuery,
} from './schema.ts';
import { typeDefinitions } from './type-definitions.ts';
import { listAll, listOfVehicle, readNotification, summarize } from './use-cases.ts';
import { toNotificationsResponse } from './viewer-responses.ts';

const base = '/notifications';
const tags = ['Notifications'];

export const notificationRoutes = (deps: Deps): PlatformRoute[] => [
  ...listRoutes(deps),
  ...acknowledgeRoutes(deps),
  ...preferenceRoutes(deps),
  pushTokenRoute(deps),
];

const listRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: base,
    operationId: 'listNotifications',
    summary: 'List notifications',
    description: 'Returns the notifications of all visible vehicles, newest first.',
    tags,
    query: listQuery,
    response: pageSchema(notificationResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listAll(deps, getCaller(context), query, paging);
      return pageResponse({ items: await toNotificationsResponse(deps, getCaller(context), items), total }, paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: `${base}/types`,
    isStatic: true,
    operationId: 'listNotificationTypes',
    summary: 'List notification types',
    description:
      "Titles and descriptions are in the caller's language if it is English, Spanish or Chinese, otherwise in English.",
    tags,
    response: Type.Object({ data: Type.Array(typeResponseSchema) }),
    handle: async ({ context }) => {
      const { language } = (await readUserPreferences(deps, getCaller(context))).values;
      return { data: typeDefinitions.map((kind) => toTypeResponse(kind, language)) };
    },
  }),
  platformRoute({
    method: 'get',
    path: `${base}/vehicle-notifications/:vehicleId`,
    operationId: 'listVehicleNotifications',
    summary: 'List notifications of a vehicle',
    description: 'Returns the notifications of a day or between two times, newest first.',
    tags,
    params: vehicleIdParams,
    query: vehicleListQuery,
    response: pageSchema(notificationResponseSchema),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listOfVehicle(deps, getCaller(context), params.vehicleId, query, paging);
      return pageResponse({ items: await toNotificationsResponse(deps, getCaller(context), items), total }, paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: `${base}/summary`,
    isStatic: true,
    operationId: 'summarizeNotifications',
    summary: 'Count notifications',
    description: 'Counts the notifications that match the filters. `open` has those without an acknowledgement.',
    tags,
    query: summaryQuery,
    response: singleSchema(summaryResponseSchema),
    handle: async ({ query, context }) => ({ data: await summarize(deps, getCaller(context), query) }),
  }),
  platformRoute({
    method: 'get',
    path: `${base}/:id`,
    operationId: 'getNotification',
    summary: 'Get a notification',
    tags,
    params: idParams,
    response: singleSchema(notificationResponseSchema),
    handle: async ({ params, context }) => {
      const notification = await readNotification(deps, getCaller(context), params.id);
      return { data: await toOneResponse(deps, context, notification) };
    },
  }),
];

const acknowledgeRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: `${base}/:id/acknowledge`,
    operationId: 'acknowledgeNotification',
    summary: 'Acknowledge a notification',
    description:
      'Stores the caller and the time; the first acknowledgement stays. If the terminal keeps the alarm set until then, the alarm is confirmed there.',
    tags,
    access: { permission: 'commands' },
    params: idParams,
    body: acknowledgeBody,
    bodyIsOptional: true,
    response: singleSchema(notificationResponseSchema),
    handle: async ({ params, body, context }) => {
      const options = { note: body.note ?? null, requestId: context.requestId };
      const acknowledged = await acknowledge(deps, getCaller(context), params.id, options);
      return { data: await toOneResponse(deps, context, acknowledged) };
    },
  }),
  platformRoute({
    method: 'post',
    path: `${base}/acknowledge`,
    operationId: 'acknowledgeNotifications',
    summary: 'Acknowledge several notifications',
    description:
      'Acknowledges up to 200 notifications, each as `POST /api/notifications/{id}/acknowledge` does. `failed` has those that the caller may not acknowledge.',
    tags,
    access: { permission: 'commands' },
    body: acknowledgeManyBody,
    response: singleSchema(acknowledgeManyResponseSchema),
    handle: async ({ body, context }) => {
      const options = { note: body.note ?? null, requestId: context.requestId };
      return { data: await acknowledgeMany(deps, getCaller(context), body.ids, options) };
    },
  }),
];

async function toOneResponse(
  deps: Deps,
  context: RequestContext,
  notification: Notification,
): Promise<NotificationResponse> {
  const [response] = await toNotificationsResponse(deps, getCaller(context), [notification]);
  if (response === undefined) throw new Error('a notification has no response');
  return response;
}

const preferenceRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: `${base}/update-preferences/:vehicleId`,
    operationId: 'updateVehiclePreferences',
    summary: 'Set notification preferences of a vehicle',
    description: "Sets the caller's own notification types and channels for the vehicle.",
    tags,
    access: { permission: 'self' },
    params: vehicleIdParams,
    body: preferencesBody,
    response: singleSchema(preferencesResponseSchema),
    handle: async ({ params: { vehicleId }, body, context }) => ({
      data: toPreferencesResponse(vehicleId, await writePreferences(deps, getCaller(context), vehicleId, body)),
    }),
  }),
  platformRoute({
    method: 'get',
    path: `${base}/vehicle-preferences/:vehicleId`,
    operationId: 'getVehiclePreferences',
    summary: 'Get notification preferences of a vehicle',
    description: "Returns the caller's own notification types and channels for the vehicle.",
    tags,
    params: vehicleIdParams,
    response: singleSchema(preferencesResponseSchema),
    handle: async ({ params: { vehicleId }, context }) => ({
      data: toPreferencesResponse(vehicleId, await readPreferences(deps, getCaller(context), vehicleId)),
    }),
  }),
];

const toPreferencesResponse = (vehicleId: number, wanted: WantedNotifications) => ({
  vehicle_id: vehicleId,
  notification_types: [...wanted.notificationTypes],
  channels: [...wanted.channels],
  is_default: wanted.isDefault,
});

const pushTokenRoute = (deps: Deps): PlatformRoute =>
  platformRoute({
    method: 'post',
    path: `${base}/update-push-token`,
    operationId: 'updatePushToken',
    summary: 'Register or remove a push token',
    description: 'Registers a device for push messages, or ends push messages to it.',
    tags,
    access: { permission: 'self' },
    body: pushTokenBody,
    response: singleSchema(pushTokenResponseSchema),
    handle: async ({ body, context }) => {
      const caller = getCaller(context);
      const token =
        body.push_token === ''
          ? await removePushTokens(deps, caller, body.device_id ?? null)
          : await registerPushToken(deps, caller, body);
      const { _id: id = null, platform = null, updatedAt = new Date() } = token ?? {};
      return { data: { id, platform, updated_at: updatedAt.toISOString() } };
    },
  });
