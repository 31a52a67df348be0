import { AppError, type Page, type Pagination, roleNotPermittedError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseAttributes, toSorting } from '../../platform/fields.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import type { Filter } from '../../store/account-repository.ts';
import { audit } from '../audit/use-cases.ts';
import { mayViewVideo } from '../media/access.ts';
import { mediaUrlBuilder } from '../media/urls.ts';
import { findVisibility, visibleVehicle, visibleVehicles } from '../vehicles/visibility.ts';
import { type ConfirmDeps, confirmAtTerminal } from './confirm.ts';
import { toViewerResponse } from './responses.ts';
import { dayAt, readRecordDate, requireKnownFilter, windowOfDay } from './rules.ts';
import type { ListQuery, Notification, NotificationResponse, VehicleListQuery } from './schema.ts';
import { findNotification, listNotifications, updateIfUnchanged, type VisibleNotifications } from './store.ts';
import { truncateAttributes } from './to-notification.ts';

type Store = Pick<Deps, 'records'>;

/** Returns the notifications of one vehicle on a day of its time zone, or between two times. */
export async function listOfVehicle(
  deps: Store,
  caller: Caller,
  vehicleId: number,
  query: VehicleListQuery,
  paging: Pagination,
  nowMs = Date.now(),
): Promise<Page<Notification>> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId, 'notifications');
  const visible = { accountId: vehicle.accountId, ownVehicleIds: [vehicleId], sharedVehicleIds: [] };
  const where = { ...filtersOf(query), timestamp: timesOf(query, vehicle.timezone, nowMs) };
  return listNotifications(deps.records, visible, { where, sorting: toSorting(query.sort), paging });
}

/** Returns the notifications of all vehicles whose notifications the caller may see. */
export async function listAll(
  deps: Store,
  caller: Caller,
  query: ListQuery,
  paging: Pagination,
): Promise<Page<Notification>> {
  const between = betweenOf(query);
  const where = {
    ...filtersOf(query),
    ...(query.vehicle_id === undefined ? {} : { vehicleId: query.vehicle_id }),
    ...(between === undefined ? {} : { timestamp: between }),
  };
  const visible = await visibleNotifications(deps, caller);
  return listNotifications(deps.records, visible, { where, sorting: toSorting(query.sort), paging });
}

/**
 * Converts notifications for the caller: without the driver and the geofence if their vehicle is only shared with the
 * caller, and with pictures if the caller may see them.
 */
export async function toNotificationsResponse(
  deps: Store & Pick<Deps, 'config'>,
  caller: Caller,
  notifications: readonly Notification[],
): Promise<NotificationResponse[]> {
  const own = caller.role === 'driver' ? new Set(await ownVehicleIds(deps, caller)) : null;
  const owns = ({ accountId, vehicleId }: Notification): boolean =>
    accountId === caller.accountId && (own === null || own.has(vehicleId));
  const urlOf = caller.scopes.includes('video') ? mediaUrlBuilder(deps, caller.userId) : null;
  const urlOfOwn = mayViewVideo(caller) ? urlOf : null;
  const hasShared = notifications.some((each) => each.media.length > 0 && !owns(each));
  const shares = urlOf !== null && hasShared ? (await findVisibility(deps, caller)).shares : null;
  const viewerOfOwn = own === null ? 'own' : 'driver';
  return notifications.map((notification) => {
    const { accountId, vehicleId } = notification;
    if (owns(notification)) return toViewerResponse(viewerOfOwn, notification, urlOfOwn);
    const share = shares?.get(vehicleId);
    const seesVideo = share?.accountId === accountId && share.permissions.includes('history_video');
    return toViewerResponse('shared', notification, seesVideo ? urlOf : null);
  });
}

/**
 * Acknowledges a notification; the first user and time stay. The note is stored in its attributes. If the terminal
 * keeps the alarm set until then, the alarm is confirmed there.
 */
export async function acknowledge(
  deps: AcknowledgeDeps,
  caller: Caller,
  id: number,
  options: { readonly note: string | null; readonly requestId: string },
): Promise<Notification> {
  const notification = await findNotification(deps.records, id);
  if (notification === null) throw notFound(id);
  await requireAcknowledger(deps, caller, notification);
  const noted =
    notification.acknowledgedAt === null
      ? await noteAcknowledgement(deps, caller, notification, options.note)
      : notification;
  const { accountId, vehicleId, type } = notification;
  const target = { type: 'notifications', id } as const;
  // Recorded in the log of the vehicle's account, which owns the terminal that may get a command.
  await audit(deps, { ...caller, accountId }, 'notifications.acknowledge', target, { vehicle_id: vehicleId, type });
  const recipients = await confirmAtTerminal(deps, noted, options.requestId);
  if (recipients.version !== notification.version) await deps.notifications.publish([recipients]);
  return recipients;
}

type AcknowledgeDeps = ConfirmDeps & { readonly notifications: Pick<Deps['notifications'], 'publish'> };

/** Concurrent changes of the same record are rare. */
const maxAttempts = 10;

async function noteAcknowledgement(
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
    if (now === null) throw notFound(before._id);
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
    throw notFound(_id);
  if (!visible.permissions.includes('commands'))
    throw new AppError('permission_denied', 'Acknowledging a notification requires the permission commands.');
}

const notFound = (id: number): AppError => new AppError('not_found', `There is no notification ${id}.`);

async function visibleNotifications(deps: Store, caller: Caller): Promise<VisibleNotifications> {
  const { shares } = await findVisibility(deps, caller);
  const recipients = [...shares.values()].filter(({ permissions }) => permissions.includes('notifications'));
  return {
    accountId: caller.accountId,
    ownVehicleIds: caller.role === 'driver' ? await ownVehicleIds(deps, caller) : null,
    sharedVehicleIds: recipients.map(({ vehicleId }) => vehicleId),
  };
}

async function ownVehicleIds(deps: Store, caller: Caller): Promise<number[]> {
  const seen = await visibleVehicles(deps, caller);
  return seen.filter(({ access }) => access === 'owner').map(({ vehicle }) => vehicle._id);
}

function filtersOf({ type, severity }: { type?: string; severity?: string }): Filter {
  const types = type
    ?.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  requireKnownFilter(types ?? []);
  return {
    ...(types === undefined ? {} : { type: { $in: types } }),
    ...(severity === undefined ? {} : { severity }),
  };
}

function timesOf(query: VehicleListQuery, timeZone: string, nowMs: number): Filter {
  const between = betweenOf(query);
  if (between !== undefined && query.record_date !== undefined)
    throw new AppError('conflicting_parameters', 'The parameter record_date cannot be combined with from and to.');
  if (between !== undefined) return between;
  const day = query.record_date === undefined ? dayAt(nowMs, timeZone) : readRecordDate(query.record_date);
  const { fromMs, toMs } = windowOfDay(day, timeZone);
  return { $gte: fromMs, $lt: toMs };
}

function betweenOf(query: { from?: string; to?: string }): Filter | undefined {
  const [from, to] = [parseTimestamp(query.from, 'from'), parseTimestamp(query.to, 'to')];
  if (from === undefined && to === undefined) return undefined;
  return {
    ...(from === undefined ? {} : { $gte: from.getTime() }),
    ...(to === undefined ? {} : { $lt: to.getTime() }),
  };
}
