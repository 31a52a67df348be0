import type { PlatformRoute } from '../access/platform-route.ts';
import { accountRoutes } from '../domains/accounts/routes.ts';
import { apiKeyRoutes } from '../domains/api-keys/routes.ts';
import { auditRoutes } from '../domains/audit/routes.ts';
import { authRoutes } from '../domains/auth/routes.ts';
import { twoFactorRoutes } from '../domains/auth/two-factor-routes.ts';
import { billingRoutes } from '../domains/billing/routes.ts';
import { broadcastRoutes } from '../domains/broadcasts/routes.ts';
import { captureRoutes } from '../domains/captures/routes.ts';
import { commandRoutes } from '../domains/commands/routes.ts';
import { dashboardConfigRoutes } from '../domains/dashboard-config/routes.ts';
import { dashcamRoutes } from '../domains/dashcam/routes.ts';
import { dataUsageRoutes } from '../domains/data-usage/routes.ts';
import { daySummaryRoutes } from '../domains/day-summaries/routes.ts';
import { dealerRoutes } from '../domains/dealers/routes.ts';
import { documentRoutes } from '../domains/documents/routes.ts';
import { downloadRoutes } from '../domains/downloads/routes.ts';
import { driverRoutes } from '../domains/drivers/routes.ts';
import { fleetRoutes } from '../domains/fleet-index/routes.ts';
import { geocodingRoutes } from '../domains/geocoding/routes.ts';
import { geofenceRoutes } from '../domains/geofences/routes.ts';
import { realtimeRoutes } from '../domains/last-positions/routes.ts';
import { mediaRoutes } from '../domains/media/routes.ts';
import { messagingRoutes } from '../domains/messaging/routes.ts';
import { miningDeviceRoutes } from '../domains/mining-devices/routes.ts';
import { findNotificationTimes } from '../domains/notifications/notification-times.ts';
import { notificationRoutes } from '../domains/notifications/routes.ts';
import { partnerRoutes } from '../domains/partners/routes.ts';
import { plannedRouteRoutes } from '../domains/planned-routes/routes.ts';
import { positionRoutes } from '../domains/positions/routes.ts';
import { preferencesRoutes } from '../domains/preferences/routes.ts';
import { sessionRoutes } from '../domains/sessions/routes.ts';
import { shareLinkRoutes } from '../domains/share-links/routes.ts';
import { supportTicketRoutes } from '../domains/support-tickets/routes.ts';
import { tollGateRoutes } from '../domains/toll-gates/routes.ts';
import { unassignedDeviceRoutes } from '../domains/unassigned-devices/routes.ts';
import { userRoutes } from '../domains/users/routes.ts';
import { vehicleGroupRoutes } from '../domains/vehicle-groups/routes.ts';
import { sharingRoutes } from '../domains/vehicle-shares/routes.ts';
import { vehicleRoutes } from '../domains/vehicles/routes.ts';
import { webhookRoutes } from '../domains/webhooks/routes.ts';
import type { Deps } from '../platform/deps.ts';
import { createAccountHooks } from './account-hooks.ts';
import { createUserHooks } from './user-hooks.ts';
import { createVehicleHooks } from './vehicle-hooks.ts';

/** Returns the rows of one domain. */
type RouteFactory = (deps: Deps) => readonly PlatformRoute[];

/** The route tables of all domains, in the order of the OpenAPI document. */
const routeFactories: readonly RouteFactory[] = [
  authRoutes,
  twoFactorRoutes,
  sessionRoutes,
  (deps) => userRoutes(deps, createUserHooks(deps)),
  apiKeyRoutes,
  (deps) => accountRoutes(deps, createAccountHooks(deps)),
  auditRoutes,
  (deps) => vehicleRoutes(deps, createVehicleHooks(deps)),
  fleetRoutes,
  unassignedDeviceRoutes,
  (deps) => positionRoutes(deps, (...args) => findNotificationTimes(deps, ...args)),
  daySummaryRoutes,
  dashcamRoutes,
  dataUsageRoutes,
  captureRoutes,
  broadcastRoutes,
  mediaRoutes,
  downloadRoutes,
  driverRoutes,
  vehicleGroupRoutes,
  geofenceRoutes,
  plannedRouteRoutes,
  geocodingRoutes,
  tollGateRoutes,
  notificationRoutes,
  preferencesRoutes,
  sharingRoutes,
  shareLinkRoutes,
  realtimeRoutes,
  webhookRoutes,
  miningDeviceRoutes,
  partnerRoutes,
  documentRoutes,
  messagingRoutes,
  dealerRoutes,
  supportTicketRoutes,
  billingRoutes,
  commandRoutes,
  dashboardConfigRoutes,
];

export const createPlatformRoutes = (deps: Deps): readonly PlatformRoute[] =>
  routeFactories.flatMap((createRoutes) => createRoutes(deps));
