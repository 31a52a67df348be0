import { singleSchema } from '@fleet/service-kit';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { dashboardConfigSchema } from './schema.ts';
import { createDashboardConfig } from './use-cases.ts';

export const dashboardConfigRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/public/dashboard-config',
    operationId: 'getDashboardConfig',
    summary: 'Get the settings of the dashboard',
    description: 'The page has the same settings as a data block.',
    tags: ['Log-in'],
    access: { credentials: 'none' },
    response: singleSchema(dashboardConfigSchema),
    handle: async () => ({ data: createDashboardConfig(deps) }),
  }),
];
