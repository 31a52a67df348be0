import { publish, shareLinkRevoked } from '@fleet/bus';
import { AppError, assertVersion, hourMs, type Page, type Pagination, type Sort } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { insertWithinQuota } from '../../store/quota.ts';
import { audit } from '../audit/use-cases.ts';
import { assertSubscriptions } from '../billing/subscriptions.ts';
import { hashPassword } from '../users/passwords.ts';
import { assertOwnVehicle } from '../vehicles/visibility.ts';
import { assertLive, createSlug, normalizePermissions } from './rules.ts';
import { type CreateBody, maxLiveLinks, type ShareLink } from './schema.ts';
import { endedFilter, findLinkById, liveFilter, revokeLinks, shareLinkCollection } from './store.ts';

type LinkDeps = Pick<Deps, 'records' | 'log'>;

/** Creates a link to a vehicle of the caller's account. */
export async function createLink(
  deps: LinkDeps & Pick<Deps, 'config' | 'database'>,
  caller: Caller,
  body: CreateBody,
  now = new Date(),
): Promise<ShareLink> {
  const { _id: vehicleId } = await assertOwnVehicle(deps, caller, body.vehicle_id);
  await assertSubscriptions(deps, caller, [vehicleId]);
  const links = shareLinkCollection(deps.records);
  const password = body.password ?? null;
  const { destination = null } = body;
  const fields = {
    slug: createSlug(),
    userId: caller.userId,
    vehicleId,
    label: body.label ?? null,
    permissions: normalizePermissions(body.permissions),
    historyMinutes: body.history_minutes,
    maxViews: body.max_views ?? null,
    passwordHash: password === null ? null : await hashPassword(password),
    destination: destination && {
      latitude: destination.latitude,
      longitude: destination.longitude,
      name: destination.name ?? null,
    },
    expiresAt: new Date(now.getTime() + body.expires_in_hours * hourMs),
    revokedAt: null,
    viewCount: 0,
    isUsedUp: false,
    lastViewedAt: null,
  };
  const link = await insertWithinQuota(
    deps.database,
    {
      name: `links to vehicle ${vehicleId}`,
      limit: maxLiveLinks,
      message: `Share link limit reached: a vehicle may have ${maxLiveLinks} live links.`,
    },
    () => links.count(caller, { vehicleId, ...liveFilter(now) }),
    () => links.insert(caller, fields),
  );
  const target = { type: 'share_links', id: link._id };
  await audit(deps, caller, 'share_links.create', target, { vehicle_id: vehicleId, permissions: link.permissions });
  return link;
}

/** Returns a page of the caller's links: the live ones, or those that have ended. */
export const listLinks = (
  { records }: Pick<Deps, 'records'>,
  caller: Caller,
  filter: { readonly vehicleId: number | undefined; readonly active: boolean },
  options: { readonly sorting: Sort; readonly paging: Pagination },
  now = new Date(),
): Promise<Page<ShareLink>> => {
  const own = { userId: caller.userId, ...(filter.vehicleId === undefined ? {} : { vehicleId: filter.vehicleId }) };
  return shareLinkCollection(records).list(caller, {
    where: { ...own, ...(filter.active ? liveFilter(now) : endedFilter(now)) },
    ...options,
  });
};

/**
 * Revokes a link of the caller, or of any user if the caller administers the account. Returns the link as it was.
 * Clients that open it afterwards get 410; guests who watch its video are disconnected.
 */
export async function revokeLink(
  deps: LinkDeps & Pick<Deps, 'bus'>,
  caller: Caller,
  id: number,
  expectedVersion?: number,
  now = new Date(),
): Promise<ShareLink> {
  const links = shareLinkCollection(deps.records);
  const own = isPermitted(caller.role, 'administration') ? {} : { userId: caller.userId };
  const link = await links.findOne(caller, { _id: id, ...own, revokedAt: null });
  // Revocation is the only change of a link.
  if (link !== null) assertVersion(link, expectedVersion);
  const revoked = link && (await links.updateMany(caller, { _id: id, revokedAt: null }, { $set: { revokedAt: now } }));
  if (link === null || revoked === 0) throw new AppError('not_found', 'There is no such share link.');
  publish(deps.bus, shareLinkRevoked, { linkId: id });
  await audit(deps, caller, 'share_links.revoke', { type: 'share_links', id }, { vehicle_id: link.vehicleId });
  return link;
}

/**
 * Returns a link that has not ended, for clients that have opened it: they can still use it after its view limit is
 * reached. Throws 410 for one that has ended, 404 for an unknown one.
 */
export async function findLiveLink(
  { records }: Pick<Deps, 'records'>,
  id: number,
  now = new Date(),
): Promise<ShareLink> {
  const link = await findLinkById(records, id);
  if (link === null) throw new AppError('not_found', 'There is no such share link.');
  assertLive({ ...link, isUsedUp: false }, now);
  return link;
}

/** Revokes the links of a deleted vehicle. */
export async function revokeLinksOfVehicle(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  vehicleId: number,
): Promise<void> {
  await revokeLinks(records, scope, { vehicleId }, new Date());
}

/** Revokes the links of a removed user. */
export async function revokeLinksOfUser(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  userId: number,
): Promise<void> {
  await revokeLinks(records, scope, { userId }, new Date());
}

/** Revokes the links of a deleted account. */
export async function revokeLinksOfAccount({ records }: Pick<Deps, 'records'>, scope: Scope): Promise<void> {
  await revokeLinks(records, scope, {}, new Date());
}
