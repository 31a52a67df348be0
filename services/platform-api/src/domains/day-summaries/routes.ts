import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehicleIdParams } from '../../platform/schemas.ts';
import { daySummarySchema, daysQuery } from './schema.ts';
import { listDays } from './use-cases.ts';

export const daySummaryRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/days',
    operationId: 'listVehicleDays',
    summary: 'List days with data',
    description:
      'Lists the days of a month on which the vehicle drove, raised events, or recorded something, oldest first. Days are those of the time zone of the vehicle.',
    tags: ['History'],
    params: vehicleIdParams,
    query: daysQuery,
    response: Type.Object({ data: Type.Array(daySummarySchema) }),
    handle: async ({ params: { vehicleId }, query, context }) => ({
      data: await listDays(deps, getCaller(context), vehicleId, query.month),
    }),
  }),
];
