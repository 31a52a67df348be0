import { singleSchema } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehicleIdParams } from '../../platform/schemas.ts';
import { dataUsageQuery, dataUsageResponseSchema } from './schema.ts';
import { getDataUsage } from './use-cases.ts';

export const dataUsageRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/data-usage',
    operationId: 'getDataUsage',
    summary: "Get a vehicle's data volume",
    description:
      'Returns the bytes that the device of a vehicle sent in a month: video by channel and kind, pictures, and uploads. Video is included within 60 seconds. The budget is that of the owning user of the vehicle.',
    tags: ['Media'],
    access: { permission: 'read', scope: 'video' },
    params: vehicleIdParams,
    query: dataUsageQuery,
    response: singleSchema(dataUsageResponseSchema),
    errors: { 404: 'The vehicle is not visible.' },
    handle: async ({ params: { vehicleId }, query, context }) => ({
      data: await getDataUsage(deps, getCaller(context), vehicleId, query.month),
    }),
  }),
];
