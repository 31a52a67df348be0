import { createHash } from 'node:crypto';
import { AppError, type PageItems, type Paging, type RequestContext } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import type { Scope } from '../../store/account-records.ts';
import { insertWithin } from '../../store/limits.ts';
import { audit } from '../audit/use-cases.ts';
import { checkSubscriptions } from '../billing/subscriptions.ts';
import { websocketUrl } from '../realtime/websocket-tokens.ts';
import { hashPassword, isPassword } from '../users/passwords.ts';
import { neverConnected, vehicleStates } from '../vehicles/states.ts';
import { vehiclesById } from '../vehicles/use-cases.ts';
import { ownVehicle } from '../vehicles/visibility.ts';
import { newSlug, requireLive, sharedView, storedPermissions } from './rules.ts';
import { type CreateBody, maxLiveLinks, type SharedViewShown, type ShareLink } from './schema.ts';
import { countView, ended, findLinkBySlug, linksIn, live, revokeLinks } from './store.ts';

type Parts = Pick<Deps, 'records' | 'log'>;

const hourMs = 3_600_000;

/** Makes a link to a vehicle of the caller's account. */
export async function createLink(
  deps: Parts & Pick<Deps, 'config' | 'database'>,
  caller: Caller,
  body: CreateBody,
  now = new Date(),
): Promise<ShareLink> {
  const { _id: vehicleId } = await ownVehicle(deps, caller, body.vehicle_id);
  await checkSubscriptions(deps, caller, [vehicleId]);
  const links = linksIn(deps.records);
  const password = body.password ?? null;
  const { destination = null } = body;
  const fields = {
    slug: newSlug(),
    userId: caller.userId,
    vehicleId,
    label: body.label ?? null,
    permissions: storedPermissions(body.permissions),
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
  const link = await insertWithin(
    deps.database,
    {
      name: `links to vehicle ${vehicleId}`,
      limit: maxLiveLinks,
      message: `A vehicle may have ${maxLiveLinks} live share links.`,
    },
    () => links.count(caller, { vehicleId, ...live(now) }),
    () => links.insert(caller, fields),
  );
  const target = { type: 'share_links', id: link._id };
  await audit(deps, caller, 'share_links.create', target, { vehicle_id: vehicleId, permissions: link.permissions });
  return link;
}

/** The caller's links: the live ones, or those that have ended. */
export const listLinks = (
  { records }: Pick<Deps, 'records'>,
  caller: Caller,
  filter: { readonly vehicleId: number | undefined; readonly active: boolean },
  paging: Paging,
  now = new Date(),
): Promise<PageItems<ShareLink>> => {
  const own = { userId: caller.userId, ...(filter.vehicleId === undefined ? {} : { vehicleId: filter.vehicleId }) };
  return linksIn(records).list(caller, { where: { ...own, ...(filter.active ? live(now) : ended(now)) }, paging });
};

/** Revokes a link of the caller; the link as it was. Who has it opens it to be told so. */
export async function revokeLink(deps: Parts, caller: Caller, id: number, now = new Date()): Promise<ShareLink> {
  const links = linksIn(deps.records);
  const link = await links.findOne(caller, { _id: id, userId: caller.userId, revokedAt: null });
  const revoked = link && (await links.updateMany(caller, { _id: id, revokedAt: null }, { $set: { revokedAt: now } }));
  if (link === null || revoked === 0) throw new AppError('not_found', 'There is no such share link.');
  await audit(deps, caller, 'share_links.revoke', { type: 'share_links', id }, { vehicle_id: link.vehicleId });
  return link;
}

/** Ends the links of a vehicle that is deleted. */
export async function endLinksOfVehicle(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  vehicleId: number,
): Promise<void> {
  await revokeLinks(records, scope, { vehicleId }, new Date());
}

/** What a link shows, counted as a view; 401 without its password, 404 for no link, 410 for one that has ended. */
export async function openLink(
  deps: Pick<Deps, 'records' | 'log' | 'redis' | 'config' | 'limits'>,
  slug: string,
  context: RequestContext,
  now = new Date(),
): Promise<SharedViewShown> {
  const link = await findLinkBySlug(deps.records, slug);
  if (link === null || link.slug !== slug) throw new AppError('not_found', 'There is no such share link.');
  requireLive(link, now);
  await requirePassword(deps, link, context);
  const vehicle = (await vehiclesById(deps.records, link, [link.vehicleId])).get(link.vehicleId);
  if (vehicle === undefined) throw new AppError('share_link_revoked', 'The link has been revoked.');
  const { imei } = vehicle;
  const states = await vehicleStates(deps, imei === null ? [] : [imei], now.getTime());
  const present = states.get(imei ?? '') ?? neverConnected;
  if ((await countView(deps.records, link, now)) === null) {
    requireLive({ ...link, ...(await findLinkBySlug(deps.records, slug)) }, now);
    throw new AppError('share_link_used_up', 'The link has been opened as often as it may be.');
  }
  const { ip } = context.request;
  const doer = { accountId: link.accountId, ...(ip === undefined ? {} : { ip }) };
  await audit(deps, doer, 'share_links.open', { type: 'share_links', id: link._id }, { vehicle_id: link.vehicleId });
  const wsUrl = `${websocketUrl(deps.config)}?share=${slug}`;
  return sharedView(link, vehicle, present, { wsUrl, nowMs: now.getTime() });
}

/** Every try counts, from wherever it comes: a short password does not last long against many addresses. */
async function requirePassword(
  { limits }: Pick<Deps, 'limits'>,
  link: ShareLink,
  context: RequestContext,
): Promise<void> {
  if (link.passwordHash === null) return;
  const given = context.request.get('x-share-password');
  if (given === undefined || given === '')
    throw new AppError('share_password', 'The link has a password: send it in the header X-Share-Password.');
  await limits.consume('shareLink', `link:${createHash('sha256').update(link.slug).digest('hex')}`, context);
  if (!(await isPassword(link.passwordHash, given)))
    throw new AppError('share_password', 'The password of the link is another one.');
}

/** Ends the links of a user who is removed. */
export async function endLinksOfUser({ records }: Pick<Deps, 'records'>, scope: Scope, userId: number): Promise<void> {
  await revokeLinks(records, scope, { userId }, new Date());
}
