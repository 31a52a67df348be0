import { computeEtag, sendWithEtag, singleSchema } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { openEventDays } from '../notifications/open-severities.ts';
import { fleetQuery, fleetResponseSchema, maxFleetRows } from './schema.ts';
import { readFleet } from './use-cases.ts';

export const fleetRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/fleet',
    operationId: 'getFleet',
    summary: 'List the visible vehicles as rows',
    description:
      'Returns all vehicles that the caller may see in one compact response without pages, for clients that show the whole fleet: ' +
      `up to ${maxFleetRows}. With \`updated_since\`, the \`generated_at\` of an earlier response, it returns the rows that have changed since. ` +
      'If these are not known, it returns all rows, and `complete` is true: other vehicles are then no longer visible. ' +
      `\`open_severity\` is the highest severity of the events of the last ${openEventDays} days without acknowledgement: \`critical\`, \`warning\` or null.`,
    tags: ['Vehicles'],
    query: fleetQuery,
    response: singleSchema(fleetResponseSchema),
    hasEtag: true,
    handle: async ({ query, context }) => {
      const fleet = await readFleet(deps, getCaller(context), query);
      const response = context.response.type('json').set('Cache-Control', 'private, no-cache');
      const { generated_at: generatedAt, ...content } = fleet;
      // Thousands of rows are serialised once, for the tag and for the body.
      const rows = JSON.stringify(content);
      const body = `{"data":{"generated_at":${JSON.stringify(generatedAt)},${rows.slice(1)}}`;
      sendWithEtag(response, body, computeEtag(rows));
      return undefined;
    },
  }),
];
