import { UploadList } from '@fleet/storage';
import { cancelWaitingCommands } from '../domains/commands/use-cases.ts';
import { adoptUploads } from '../domains/downloads/adopt-uploads.ts';
import { recordTenureEnd } from '../domains/downloads/terminal-tenures.ts';
import { endDriverSessions } from '../domains/drivers/sessions.ts';
import { dropVehicleFromGeofences } from '../domains/geofences/queries.ts';
import { unprotectMediaOfVehicle } from '../domains/media/use-cases.ts';
import { deletePreferences } from '../domains/notifications/preferences.ts';
import { unlinkVehicle } from '../domains/planned-routes/queries.ts';
import { revokeLinksOfVehicle } from '../domains/share-links/use-cases.ts';
import { endSharesOfVehicle } from '../domains/vehicle-shares/use-cases.ts';
import { deleteTerminalState } from '../domains/vehicle-states/commands.ts';
import type { VehicleHooks } from '../domains/vehicles/hooks.ts';
import { dropVehicleFromWebhooks } from '../domains/webhooks/use-cases.ts';
import { deleteAttachmentRequests } from '../event-consumers/attachment-request-store.ts';
import type { Deps } from '../platform/deps.ts';

/** Returns the work of the domains after changes of vehicles. Each hook runs even if another one failed; then all of them run again. */
export const createVehicleHooks = (deps: Deps): VehicleHooks => ({
  terminalAssigned: [(vehicle) => adoptUploads(deps, vehicle)],
  deleted: [
    (vehicle) => recordTenureEnd(deps, vehicle),
    (vehicle) => endSharesOfVehicle(deps, vehicle, vehicle._id),
    (vehicle) => endDriverSessions(deps, vehicle, vehicle._id),
    (vehicle) => dropVehicleFromGeofences(deps, vehicle, vehicle._id),
    (vehicle) => unlinkVehicle(deps, vehicle, vehicle._id),
    (vehicle) => revokeLinksOfVehicle(deps, vehicle, vehicle._id),
    (vehicle) => cancelWaitingCommands(deps, vehicle, vehicle._id),
    (vehicle) => dropVehicleFromWebhooks(deps, vehicle, vehicle._id),
    (vehicle) => deleteTerminalState(deps, vehicle),
    (vehicle) => deleteAttachmentRequests(deps, vehicle),
    (vehicle) => unprotectMediaOfVehicle(deps, vehicle, vehicle._id),
    (vehicle) => new UploadList(deps.database).detachVehicle(vehicle.accountId, vehicle._id),
    (vehicle) => deletePreferences(deps, { vehicleId: vehicle._id }),
  ],
  terminalRemoved: [
    (vehicle) => recordTenureEnd(deps, vehicle),
    (vehicle) => cancelWaitingCommands(deps, vehicle, vehicle._id, vehicle.imei),
  ],
});
