import { cancelWaitingCommands } from '../domains/commands/use-cases.ts';
import { endDriverSessions } from '../domains/drivers/sessions.ts';
import { dropVehicleFromGeofences } from '../domains/geofences/queries.ts';
import { releaseMediaOf } from '../domains/media/removal.ts';
import { deletePreferences } from '../domains/notifications/preferences.ts';
import { dropVehicleFromRoutes } from '../domains/planned-routes/queries.ts';
import { endLinksOfVehicle } from '../domains/share-links/use-cases.ts';
import { endSharesOfVehicle } from '../domains/vehicle-shares/use-cases.ts';
import type { VehicleDeleted } from '../domains/vehicles/deleted.ts';
import { dropVehicleFromWebhooks } from '../domains/webhooks/use-cases.ts';
import { forgetAttachments } from '../event-consumers/attachment-requests.ts';
import type { Deps } from '../platform/deps.ts';
import { deleteTerminalState } from '../telemetry/state-store.ts';

/**
 * Returns the hooks that run when a vehicle is deleted. Each runs even if another one fails, and a retry runs all of
 * them again.
 */
export const vehicleDeletionHooks = (deps: Deps): readonly VehicleDeleted[] => [
  (vehicle) => endSharesOfVehicle(deps, vehicle, vehicle._id),
  (vehicle) => endDriverSessions(deps, vehicle, vehicle._id),
  (vehicle) => dropVehicleFromGeofences(deps, vehicle, vehicle._id),
  (vehicle) => dropVehicleFromRoutes(deps, vehicle, vehicle._id),
  (vehicle) => endLinksOfVehicle(deps, vehicle, vehicle._id),
  (vehicle) => cancelWaitingCommands(deps, vehicle, vehicle._id),
  (vehicle) => dropVehicleFromWebhooks(deps, vehicle, vehicle._id),
  (vehicle) => deleteTerminalState(deps, vehicle),
  (vehicle) => forgetAttachments(deps, vehicle),
  (vehicle) => releaseMediaOf(deps, vehicle, vehicle._id),
  (vehicle) => deletePreferences(deps, { vehicleId: vehicle._id }),
];
