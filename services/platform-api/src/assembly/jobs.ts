import { dayMs, hourMs, minuteMs } from '@fleet/service-kit';
import { processDeletedAccounts } from '../domains/accounts/deletion.ts';
import { purgeDedupe, purgeEntries } from '../domains/audit/retention.ts';
import { purgeExpiredAuth } from '../domains/auth/retention.ts';
import { processOrders } from '../domains/billing/use-cases.ts';
import { removeOldCommands } from '../domains/commands/use-cases.ts';
import { removeOldUsage } from '../domains/data-usage/use-cases.ts';
import { adoptAllUploads } from '../domains/downloads/adopt-uploads.ts';
import { purgeArchivedNames } from '../domains/drivers/queries.ts';
import { removeExpiredAddresses } from '../domains/geocoding/retention.ts';
import { syncTerminals } from '../domains/geofences/terminal-sync.ts';
import { createDuePreviews } from '../domains/media/previews.ts';
import { retryPendingRemovals } from '../domains/media/removal.ts';
import { deleteOldRemovals, removeLostClips, removeOldMedia } from '../domains/media/retention.ts';
import { recalculateAllUsage } from '../domains/media/storage-quota.ts';
import { purgeServerTimes } from '../domains/notifications/insert-notifications.ts';
import { removeOldNotifications } from '../domains/notifications/retention.ts';
import { applyPositionRetention } from '../domains/positions/retention.ts';
import { accountConfig } from '../domains/preferences/use-cases.ts';
import { sweepSessions } from '../domains/sessions/use-cases.ts';
import { sweepUnassigned } from '../domains/unassigned-devices/use-cases.ts';
import { eraseUsers } from '../domains/users/erasure.ts';
import { removeEndedShares } from '../domains/vehicle-shares/use-cases.ts';
import { retryVehicleCleanups } from '../domains/vehicles/vehicle-deletion.ts';
import { raiseDocumentExpiry } from '../event-consumers/raise-document-expiry.ts';
import type { Job } from '../jobs/job.ts';
import { removeOldMails } from '../mail/mail-store.ts';
import { purgeDeliveryLog } from '../notification-delivery/delivery-log.ts';
import type { Deps } from '../platform/deps.ts';
import { IdempotencyKeyStore } from '../store/idempotency.ts';
import { createAccountHooks } from './account-hooks.ts';
import { createUserErasers } from './user-hooks.ts';
import { createVehicleHooks } from './vehicle-hooks.ts';

/** Returns for how many days an account retains all of its positions. */
const fullDays =
  (deps: Deps) =>
  async (accountId: number): Promise<number> =>
    (await accountConfig(deps, { accountId })).retention.locations_days;

/** All jobs. Each calls one use case of a domain. */
export const jobs: readonly Job[] = [
  { name: 'log-in', everyMs: hourMs, run: ({ database }) => purgeExpiredAuth(database) },
  { name: 'mails', everyMs: hourMs, run: (deps) => removeOldMails(deps) },
  { name: 'sessions', everyMs: hourMs, run: ({ records }) => sweepSessions(records) },
  { name: 'kept addresses', everyMs: hourMs, run: ({ database }) => removeExpiredAddresses(database) },
  { name: 'idempotency keys', everyMs: hourMs, run: ({ database }) => new IdempotencyKeyStore(database).sweep() },
  { name: 'audit log', everyMs: hourMs, runSlice: ({ records }, slice) => purgeEntries(records, slice) },
  { name: 'told to the audit log', everyMs: hourMs, runSlice: ({ database }, slice) => purgeDedupe(database, slice) },
  { name: 'notifications', everyMs: dayMs, runSlice: (deps, slice) => removeOldNotifications(deps, slice) },
  {
    name: 'server times of notifications',
    everyMs: hourMs,
    runSlice: ({ database }, slice) => purgeServerTimes(database, slice),
  },
  { name: 'messages about notifications', everyMs: hourMs, run: ({ database }) => purgeDeliveryLog(database) },
  {
    name: 'deleted vehicles',
    everyMs: minuteMs,
    run: (deps) => retryVehicleCleanups(deps, createVehicleHooks(deps)),
  },
  { name: 'removals of media', everyMs: minuteMs, runSlice: (deps, slice) => retryPendingRemovals(deps, slice) },
  { name: 'thumbnails', everyMs: minuteMs, runSlice: (deps, slice) => createDuePreviews(deps, slice) },
  { name: 'old media', everyMs: hourMs, runSlice: (deps, slice) => removeOldMedia(deps, slice) },
  { name: 'uploads without an account', everyMs: hourMs, run: (deps) => adoptAllUploads(deps) },
  { name: 'lost clips', everyMs: dayMs, runSlice: (deps, slice) => removeLostClips(deps, slice) },
  { name: 'storage of media', everyMs: dayMs, runSlice: (deps, slice) => recalculateAllUsage(deps, slice) },
  { name: 'media that was removed', everyMs: dayMs, runSlice: (deps, slice) => deleteOldRemovals(deps, slice) },
  { name: 'data volume', everyMs: dayMs, run: (deps) => removeOldUsage(deps) },
  { name: 'areas of terminals', everyMs: minuteMs, run: (deps) => syncTerminals(deps) },
  // Retention is counted in days, so an hourly run is sufficient.
  {
    name: 'positions',
    everyMs: hourMs,
    runSlice: (deps, slice) => applyPositionRetention(deps, slice, fullDays(deps)),
  },
  { name: 'former drivers', everyMs: dayMs, run: (deps) => purgeArchivedNames(deps) },
  { name: 'document expiry', everyMs: hourMs, run: (deps) => raiseDocumentExpiry(deps) },
  { name: 'terminals without a vehicle', everyMs: 5 * minuteMs, run: (deps) => sweepUnassigned(deps) },
  { name: 'orders', everyMs: minuteMs, run: (deps) => processOrders(deps) },
  { name: 'commands', everyMs: hourMs, run: (deps) => removeOldCommands(deps) },
  {
    name: 'deleted accounts',
    everyMs: minuteMs,
    run: (deps) => processDeletedAccounts(deps, createAccountHooks(deps)),
  },
  { name: 'removed users', everyMs: hourMs, run: (deps) => eraseUsers(deps, createUserErasers(deps)) },
  { name: 'shares', everyMs: hourMs, run: (deps) => removeEndedShares(deps) },
  {
    name: 'signing keys',
    everyMs: hourMs,
    run: ({ signingKeys, config }) => signingKeys.rotateWhenDue(config.SIGNING_KEY_DAYS),
  },
];
