import { AppError, roleNotPermittedError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseAttributes } from '../../platform/fields.ts';
import { audit } from '../audit/use-cases.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { type ConfirmDeps, confirmAtTerminal } from './confirm.ts';
import type { AcknowledgeManyResponse, Notification } from './schema.ts';
import { findNotification, updateIfUnchanged } from './store.ts';
import { truncateAttributes } from './to-notification.ts';

type Store = Pick<Deps, 'records'>;
type AcknowledgeDeps = ConfirmDeps & { readonly notifications: Pick<Deps['notifications'], 'publish'> };

interface AcknowledgeOptions {
  readonly note: string | null;
  readonly requestId: string;
}

/**
 * Acknowledges a notification; the first user and time stay. The note is stored in its attributes. If the terminal
 * keeps the alarm set until then, the alarm is confirmed there.
 */
export async function acknowledge(
  deps: AcknowledgeDeps,
  caller: Caller,
  id: number,
  options: AcknowledgeOptions,
): Promise<Notification> {
  const { notification, acknowledged } = await store(deps, caller, id, options.note);
  const confirmed = await confirmAtTerminal(deps, acknowledged, options.requestId);
  if (confirmed.version !== notification.version) await deps.notifications.publish([confirmed]);
  return confirmed;
}

/** Notifications that are stored concurrently. */
const storeBatchSize = 20;
/** Terminals that confirm concurrently; a silent one takes seconds. */
const confirmBatchSize = 50;

/**
 * Acknowledges several notifications like `acknowledge`. All are stored before the first terminal confirms. Those that
 * the caller may not acknowledge are returned with the code of their error.
 */
export async function acknowledgeMany(
  deps: AcknowledgeDeps,
  caller: Caller,
  ids: readonly number[],
  options: AcknowledgeOptions,
): Promise<AcknowledgeManyResponse> {
  const failed: { id: number; code: string }[] = [];
  const stored = await mapInBatches([...new Set(ids)], storeBatchSize, async (id) => {
    try {
      return [await store(deps, caller, id, options.note)];
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      failed.push({ id, code: error.code });
      return [];
    }
  });
  const changed = stored
    .flat()
    .filter(({ notification, acknowledged }) => acknowledged.version !== notification.version);
  await deps.notifications.publish(changed.map(({ acknowledged }) => acknowledged));
  await mapInBatches(stored.flat(), confirmBatchSize, async ({ acknowledged }) => {
    const confirmed = await confirmAtTerminal(deps, acknowledged, options.requestId);
    if (confirmed.version !== acknowledged.version) await deps.notifications.publish([confirmed]);
  });
  return { acknowledged: stored.flat().map(({ acknowledged }) => acknowledged._id), failed };
}

async function mapInBatches<T, R>(items: readonly T[], size: number, run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += size)
    results.push(...(await Promise.all(items.slice(at, at + size).map(run))));
  return results;
}

/** Stores the acknowledgement, and records it in the audit log. Returns the notification before and after. */
async function store(
  deps: AcknowledgeDeps,
  caller: Caller,
  id: number,
  note: string | null,
): Promise<{ readonly notification: Notification; readonly acknowledged: Notification }> {
  const notification = await findNotification(deps.records, id);
  if (notification === null) throw notificationNotFound(id);
  await requireAcknowledger(deps, caller, notification);
  const acknowledged =
    notification.acknowledgedAt === null ? await storeAcknowledgement(deps, caller, notification, note) : notification;
  const { accountId, vehicleId, type } = notification;
  const target = { type: 'notifications', id } as const;
  // Recorded in the log of the vehicle's account, which owns the terminal that may get a command.
  await audit(deps, { ...caller, accountId }, 'notifications.acknowledge', target, { vehicle_id: vehicleId, type });
  return { notification, acknowledged };
}

/** Concurrent changes of the same record are rare. */
const maxAttempts = 10;

async function storeAcknowledgement(
  { records }: Store,
  caller: Caller,
  notification: Notification,
  note: string | null,
): Promise<Notification> {
  let before = notification;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (before.acknowledgedAt !== null) return before;
    const attributes =
      note === null || note === ''
        ? before.attributes
        : truncateAttributes({ ...parseAttributes(before.attributes), acknowledge_note: note });
    const change = { acknowledgedAt: new Date(), acknowledgedBy: caller.userId, attributes };
    const changed = await updateIfUnchanged(records, before, change);
    if (changed !== null) return changed;
    const now = await findNotification(records, before._id);
    if (now === null) throw notificationNotFound(before._id);
    before = now;
  }
  throw new AppError('state_conflict', 'The notification is being modified concurrently. Retry.');
}

/**
 * Throws unless the caller may send commands to the vehicle, because an acknowledgement ends the alarm at the terminal.
 */
async function requireAcknowledger(deps: Store, caller: Caller, notification: Notification): Promise<void> {
  const { accountId, vehicleId, _id } = notification;
  // The history of deleted vehicles of the own account stays.
  const isOwn = accountId === caller.accountId && caller.role !== 'driver';
  if (isOwn && !isPermitted(caller.role, 'commands')) throw roleNotPermittedError(caller.role);
  if (isOwn) return;
  const [visible] = await visibleVehicles(deps, caller, [vehicleId]);
  if (
    visible === undefined ||
    visible.vehicle.accountId !== accountId ||
    !visible.permissions.includes('notifications')
  )
    throw notificationNotFound(_id);
  if (!visible.permissions.includes('commands'))
    throw new AppError('permission_denied', 'Acknowledging a notification requires the permission commands.');
}

export const notificationNotFound = (id: number): AppError =>
  new AppError('not_found', `There is no notification ${id}.`);
