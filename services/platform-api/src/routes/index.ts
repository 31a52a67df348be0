import type { PlatformRoute } from '../access/platform-route.ts';
import type { Deps } from '../deps.ts';
import { auditRoutes } from '../domains/audit/routes.ts';
import { dealerRoutes } from '../domains/dealers/routes.ts';
import { driverRoutes } from '../domains/drivers/routes.ts';
import { miningDeviceRoutes } from '../domains/mining-devices/routes.ts';
import { notificationRoutes } from '../domains/notifications/routes.ts';
import { preferencesRoutes } from '../domains/preferences/routes.ts';
import { supportTicketRoutes } from '../domains/support-tickets/routes.ts';
import { vehicleGroupRoutes } from '../domains/vehicle-groups/routes.ts';
import { vehicleRoutes } from '../domains/vehicles/routes.ts';
import { webhookRoutes } from '../domains/webhooks/routes.ts';
import { onVehicleDeleted } from '../on-vehicle-deleted.ts';

/** A domain's rows of the route table. */
type DomainRoutes = (deps: Deps) => readonly PlatformRoute[];

/** One line for each domain, in the order of the OpenAPI document. */
const domains: readonly DomainRoutes[] = [
  auditRoutes,
  (deps) => vehicleRoutes(deps, onVehicleDeleted(deps)),
  driverRoutes,
  vehicleGroupRoutes,
  notificationRoutes,
  preferencesRoutes,
  webhookRoutes,
  miningDeviceRoutes,
  dealerRoutes,
  supportTicketRoutes,
];

export const platformRoutes = (deps: Deps): readonly PlatformRoute[] => domains.flatMap((routesOf) => routesOf(deps));
