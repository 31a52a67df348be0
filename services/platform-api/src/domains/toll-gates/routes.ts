import { pageResponse, pageSchema, parsePagination } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { listTollGatesQuery, tollGateResponseSchema } from './schema.ts';
import { listTollGates } from './use-cases.ts';

export const tollGateRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/toll-gates',
    operationId: 'listTollGates',
    summary: 'List toll gates',
    description:
      'Near a position, the nearest come first. With `route_id` they are in driving order and have `distance_from_start_m`. The operator supplies the data (`TOLL_GATES_FILE`), which are the same for all accounts.',
    tags: ['Toll gates'],
    query: listTollGatesQuery,
    response: pageSchema(tollGateResponseSchema),
    errors: { 404: 'The route does not exist or is not visible to the caller.' },
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listTollGates(deps, getCaller(context), query, paging), paging);
    },
  }),
];
