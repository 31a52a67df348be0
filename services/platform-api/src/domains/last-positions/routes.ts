import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { text } from '../../platform/fields.ts';
import { nullable, recordId } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';
import { locationResponseSchema } from './responses.ts';
import { imeisOfVehicles, latestLocations } from './use-cases.ts';
import { makeWebsocketToken, websocketTokenSeconds, websocketUrl } from './websocket-tokens.ts';

const tags = ['Realtime'];

export const realtimeRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/user/generate-websocket-token',
    operationId: 'generateWebsocketToken',
    summary: 'Create a websocket token',
    description:
      'The token opens the websocket for five minutes. With `X-Account-Id` the connection receives the events of that account.',
    tags,
    response: Type.Object(
      {
        token: Type.String({ description: 'Opaque; send it as the query parameter `token` of `ws_url`.' }),
        expires_in: Type.Integer({ description: 'Seconds.' }),
        ws_url: Type.String(),
      },
      { title: 'WebsocketToken' },
    ),
    handle: async ({ context }) => {
      context.response.set('Cache-Control', 'no-store');
      return {
        token: await makeWebsocketToken(deps.redis, getCaller(context)),
        expires_in: websocketTokenSeconds,
        ws_url: websocketUrl(deps.config),
      };
    },
  }),
  platformRoute({
    method: 'get',
    path: '/rtt-tracking/get-imei-latest-location',
    operationId: 'getLatestLocations',
    summary: 'List the newest positions of vehicles',
    description: 'Returns the newest position of each vehicle as a plain array, newest first.',
    tags,
    query: Type.Object({
      imei: Type.Optional(
        text(1, 12_000, { description: 'Up to 500 terminal numbers, separated by commas. Default: all.' }),
      ),
      updated_since: Type.Optional(timeParameter),
      address: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Also looks up the addresses of the 200 newest positions. Each address that is not cached counts as a geocoding request; the address is null once the limit of these requests is reached.',
        }),
      ),
    }),
    response: Type.Array(locationResponseSchema),
    handle: ({ query, context }) => latestLocations(deps, getCaller(context), query),
  }),
  platformRoute({
    method: 'get',
    path: '/rtt-tracking/get-imei-based-on-vehicle-number',
    operationId: 'getImeisOfVehicles',
    summary: 'List the terminals of vehicles',
    description: 'Finds vehicles by their numbers and returns a plain array.',
    tags,
    query: Type.Object({
      vehicle_no: Type.Optional(
        text(1, 12_000, {
          description: 'Up to 500 vehicle numbers, separated by commas; spaces and case are ignored. Default: all.',
        }),
      ),
    }),
    response: Type.Array(
      Type.Object(
        { vehicle_id: recordId, vehicle_no: Type.String(), imei: nullable(Type.String()) },
        { title: 'VehicleNumber' },
      ),
    ),
    handle: ({ query, context }) => imeisOfVehicles(deps, getCaller(context), query),
  }),
];
