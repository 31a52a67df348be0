import type { Deps } from './deps.ts';
import { sweepDeletedAccounts } from './domains/accounts/deletion.ts';
import { sweepEntries, sweepTold } from './domains/audit/store.ts';
import { sweepAuth } from './domains/auth/store.ts';
import { sweepOrders } from './domains/billing/use-cases.ts';
import { removeOldCommands } from './domains/commands/use-cases.ts';
import { sweepFormerDrivers } from './domains/drivers/look-ups.ts';
import { sweepAddresses } from './domains/geocoding/store.ts';
import { syncTerminals } from './domains/geofences/terminal-sync.ts';
import { settleRemovals } from './domains/media/removal.ts';
import { forgetOldRemovals, removeLostClips, removeOldMedia } from './domains/media/retention.ts';
import { recountAll } from './domains/media/storage.ts';
import { sweepTimes } from './domains/notifications/record.ts';
import { removeOldNotifications } from './domains/notifications/retention.ts';
import { sweepPositions } from './domains/positions/retention.ts';
import { sweepSessions } from './domains/sessions/use-cases.ts';
import { removeEndedShares } from './domains/sharing/use-cases.ts';
import { sweepUnassigned } from './domains/unassigned-devices/use-cases.ts';
import { eraseUsers } from './domains/users/erasure.ts';
import { endDeletedVehicles } from './domains/vehicles/deleted.ts';
import { raiseDocumentExpiry } from './events/document-expiry.ts';
import { removeOldMails } from './mail/store.ts';
import { onVehicleDeleted } from './on-vehicle-deleted.ts';
import { sweepSends } from './senders/sent-log.ts';
import { IdempotencyKeys } from './store/idempotency.ts';
import type { SweepTurn } from './store/sweep-turn.ts';

interface Timed {
  readonly name: string;
  readonly everyMs: number;
}

/** Work that one replica does from time to time, for all: what has expired goes, as the embedded database has no indexes that do so. */
export interface WholeSweep extends Timed {
  readonly run: (deps: Deps) => Promise<unknown>;
}

/** One that may be long: a turn each minute, which answers where to go on, until all is done; `everyMs` is the rest behind that. */
export interface SweepInTurns extends Timed {
  readonly takeTurn: (deps: Deps, turn: SweepTurn) => Promise<number | null>;
}

export type Sweep = WholeSweep | SweepInTurns;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** One line for each sweep; what it does in a domain is one of its use-cases. */
export const sweeps: readonly Sweep[] = [
  { name: 'log-in', everyMs: hourMs, run: ({ database }) => sweepAuth(database) },
  { name: 'mails', everyMs: hourMs, run: (deps) => removeOldMails(deps) },
  { name: 'sessions', everyMs: hourMs, run: ({ records }) => sweepSessions(records) },
  { name: 'kept addresses', everyMs: hourMs, run: ({ database }) => sweepAddresses(database) },
  { name: 'idempotency keys', everyMs: hourMs, run: ({ database }) => new IdempotencyKeys(database).sweep() },
  { name: 'audit log', everyMs: hourMs, takeTurn: ({ records }, turn) => sweepEntries(records, turn) },
  { name: 'told to the audit log', everyMs: hourMs, takeTurn: ({ database }, turn) => sweepTold(database, turn) },
  { name: 'notifications', everyMs: 24 * hourMs, takeTurn: (deps, turn) => removeOldNotifications(deps, turn) },
  {
    name: 'server times of notifications',
    everyMs: hourMs,
    takeTurn: ({ database }, turn) => sweepTimes(database, turn),
  },
  { name: 'messages about notifications', everyMs: hourMs, run: ({ database }) => sweepSends(database) },
  {
    name: 'deleted vehicles',
    everyMs: minuteMs,
    run: (deps) => endDeletedVehicles(deps, onVehicleDeleted(deps)),
  },
  { name: 'removals of media', everyMs: minuteMs, takeTurn: (deps, turn) => settleRemovals(deps, turn) },
  { name: 'old media', everyMs: hourMs, takeTurn: (deps, turn) => removeOldMedia(deps, turn) },
  { name: 'lost clips', everyMs: 24 * hourMs, takeTurn: (deps, turn) => removeLostClips(deps, turn) },
  { name: 'storage of media', everyMs: 24 * hourMs, takeTurn: (deps, turn) => recountAll(deps, turn) },
  { name: 'media that was removed', everyMs: 24 * hourMs, takeTurn: (deps, turn) => forgetOldRemovals(deps, turn) },
  { name: 'areas of terminals', everyMs: minuteMs, run: (deps) => syncTerminals(deps) },
  // Days are kept, not hours.
  { name: 'positions', everyMs: hourMs, takeTurn: (deps, turn) => sweepPositions(deps, turn) },
  { name: 'former drivers', everyMs: 24 * hourMs, run: (deps) => sweepFormerDrivers(deps) },
  { name: 'document expiry', everyMs: hourMs, run: (deps) => raiseDocumentExpiry(deps) },
  { name: 'terminals without a vehicle', everyMs: 5 * minuteMs, run: (deps) => sweepUnassigned(deps) },
  { name: 'orders', everyMs: minuteMs, run: (deps) => sweepOrders(deps) },
  { name: 'commands', everyMs: hourMs, run: (deps) => removeOldCommands(deps) },
  { name: 'deleted accounts', everyMs: minuteMs, run: (deps) => sweepDeletedAccounts(deps) },
  { name: 'removed users', everyMs: hourMs, run: (deps) => eraseUsers(deps) },
  { name: 'shares', everyMs: hourMs, run: (deps) => removeEndedShares(deps) },
  {
    name: 'signing keys',
    everyMs: hourMs,
    run: ({ signingKeys, config }) => signingKeys.rotateWhenDue(config.SIGNING_KEY_DAYS),
  },
];
