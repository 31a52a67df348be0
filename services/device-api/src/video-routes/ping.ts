import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { commandErrors } from '../routes/responses.ts';
import { pingDevice } from '../use-cases/ping-device.ts';
import { devicePath } from './parameters.ts';

const timeSchema = (description: string, example: string) =>
  Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description, examples: [example] });

const response = Type.Object(
  {
    imei: Type.String({ description: 'As the caller wrote it.', examples: ['013800138000'] }),
    connected: Type.Boolean({ description: 'Whether the device has a session.', examples: [true] }),
    last_seen: timeSchema("Time of the device's last message, also after a disconnection.", '2026-08-01T02:00:00.000Z'),
    connected_since: timeSchema('Start of its session.', '2026-08-01T00:12:41.000Z'),
    rtt_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], {
      description: 'Round trip of the link test.',
      examples: [184],
    }),
  },
  { title: 'PingResponse', additionalProperties: false },
);

const formatTime = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

export const ping = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    requiredRight: ({ query }) => ((query as { deep?: boolean }).deep === true ? 'any' : 'view'),
    method: 'get',
    path: '/:imei/ping',
    operationId: 'pingDevice',
    summary: 'Ping a device',
    description: 'A disconnected device is 200 with `connected: false`.',
    tags: ['Video service'],
    params: devicePath,
    query: Type.Object({
      deep: Type.Optional(Type.Boolean({ default: false, description: 'Send a link test; 504 without a response.' })),
    }),
    response,
    errors: commandErrors,
    handle: async ({ params, query, context }) => {
      const found = await pingDevice(
        deps,
        { imei: canonicalImei(params.imei), isDeep: query.deep ?? false },
        createCommandContext(deps, context),
      );
      return {
        imei: params.imei,
        connected: found.connected,
        last_seen: formatTime(found.lastSeenMs),
        connected_since: formatTime(found.onlineSinceMs),
        rtt_ms: found.rttMs,
      };
    },
  });
