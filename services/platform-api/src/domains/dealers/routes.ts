import { pageResponse, pageSchema, parsePagination } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { dealerResponse, listDealersQuery } from './schema.ts';
import { listDealers } from './use-cases.ts';

export const dealerRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/dealers/me',
    operationId: 'listDealers',
    summary: 'List sub-dealers or your dealer',
    description: 'Returns the sub-dealers of a dealer, or the dealer of the account for all other users.',
    tags: ['Dealers'],
    access: { permission: 'self' },
    query: listDealersQuery,
    response: pageSchema(dealerResponse),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listDealers(deps, getCaller(context), query, paging), paging);
    },
  }),
];
