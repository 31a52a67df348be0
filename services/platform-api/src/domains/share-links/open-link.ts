import { createHash } from 'node:crypto';
import { guestChannels } from '@fleet/bus';
import { AppError, hourMs, minuteMs, type RequestContext } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { websocketUrl } from '../last-positions/websocket-tokens.ts';
import { readTrack, type Track } from '../positions/read-track.ts';
import { isPassword } from '../users/passwords.ts';
import { neverConnected, readLiveStates, type VehicleLiveState } from '../vehicles/live-states.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehiclesById } from '../vehicles/use-cases.ts';
import { createGuestAddresses } from '../video-access/stream-urls.ts';
import { paceMinutes } from './arrival.ts';
import { assertLive, passwordCandidates, toSharedViewResponse } from './rules.ts';
import type { SharedVideo, SharedViewResponse, ShareLink } from './schema.ts';
import { countView, findLinkBySlug, findLiveIds } from './store.ts';

type LinkDeps = Pick<Deps, 'records' | 'log' | 'redis' | 'config' | 'limits' | 'encryption' | 'thresholds'>;
type OpenDeps = LinkDeps & Pick<Deps, 'config' | 'database' | 'streamTokens'>;

/** An opened link with its vehicle. */
interface OpenedLink {
  readonly link: ShareLink;
  readonly vehicle: Vehicle;
  readonly liveState: VehicleLiveState;
}

/** A link opened by a websocket, with a new ticket: a page that stays open longer than a ticket keeps its access. */
export interface OpenedSocket extends OpenedLink {
  readonly ticket: string;
}

/** The client that opens a link. */
interface Reader {
  readonly password: string | undefined;
  readonly ip: string | undefined;
  readonly context?: RequestContext;
}

/**
 * Opens a link and counts a view. Throws 401 without its password, 404 for an unknown link, 410 for one that has ended.
 */
export async function openLink(
  deps: OpenDeps,
  slug: string,
  context: RequestContext,
  now = new Date(),
): Promise<SharedViewResponse> {
  const { request } = context;
  const reader = { password: request.get('x-share-password'), ip: request.ip, context };
  const { link, vehicle, liveState } = await open(deps, slug, reader, now);
  const ticket = encodeURIComponent(createTicket(deps, link, now));
  const wsUrl = `${websocketUrl(deps.config)}?share=${slug}&ticket=${ticket}`;
  const track = await readSharedTrack(deps, link, vehicle, now);
  const video = await createVideoView(deps, link, vehicle);
  return toSharedViewResponse(link, vehicle, liveState, { wsUrl, track, video, nowMs: now.getTime() });
}

/** Returns the addresses of the first enabled camera, and all of them, if the link includes live video. */
async function createVideoView(deps: OpenDeps, link: ShareLink, { imei, channels }: Vehicle): Promise<SharedVideo> {
  const visible = link.permissions.includes('live_video') && imei !== null ? guestChannels(channels) : [];
  const [first] = visible;
  const none = { stream_url: null, ws_flv_url: null, hls_url: null };
  if (first === undefined) return { ...none, channels: visible };
  const { token_expires_at: _expiry, ...addresses } = await createGuestAddresses(deps, link, first);
  return { ...addresses, channels: visible };
}

/**
 * Opens a link for the websocket. With the ticket of an earlier response, the view was counted and the password checked
 * already.
 */
export async function openLinkSocket(
  deps: LinkDeps,
  slug: string,
  reader: Reader & { readonly ticket: string | undefined },
  now = new Date(),
): Promise<OpenedSocket> {
  const opened = (await openByTicket(deps, slug, reader.ticket, now)) ?? (await open(deps, slug, reader, now));
  return { ...opened, ticket: createTicket(deps, opened.link, now) };
}

/** Opens a link whose view was counted; returns null without a valid ticket. */
async function openByTicket(
  deps: LinkDeps,
  slug: string,
  ticket: string | undefined,
  now: Date,
): Promise<OpenedLink | null> {
  if (ticket === undefined) return null;
  const link = await findLink(deps, slug);
  if (!isTicketOf(deps, link, ticket, now)) return null;
  assertLive({ ...link, isUsedUp: false }, now);
  return withVehicle(deps, link, now);
}

/**
 * Returns the track that the link may show; an empty one while the history is unavailable, so that the position is
 * still returned.
 */
async function readSharedTrack(
  deps: LinkDeps & Pick<Deps, 'database'>,
  { historyMinutes, destination, permissions }: ShareLink,
  { _id: vehicleId }: Vehicle,
  now: Date,
): Promise<Track> {
  const minutes = Math.max(historyMinutes, destination === null ? 0 : paceMinutes);
  if (minutes === 0 || !permissions.includes('location')) return { points: [], paceKmh: null };
  const [fromMs, toMs] = [now.getTime() - minutes * minuteMs, now.getTime()];
  try {
    return await readTrack(deps, vehicleId, { fromMs, toMs });
  } catch (error) {
    deps.log.warn({ err: error, vehicleId }, 'could not read the track of a shared vehicle');
    return { points: [], paceKmh: null };
  }
}

/** Returns those of the opened links that have not ended. */
export const filterLive = ({ records }: Pick<Deps, 'records'>, ids: readonly number[]): Promise<Set<number>> =>
  findLiveIds(records, ids, new Date());

async function open(deps: LinkDeps, slug: string, reader: Reader, now: Date): Promise<OpenedLink> {
  const link = await findLink(deps, slug);
  assertLive(link, now);
  await requirePassword(deps, link, reader);
  const opened = await withVehicle(deps, link, now);
  if ((await countView(deps.records, link, now)) === null) {
    assertLive({ ...link, ...(await findLinkBySlug(deps.records, slug)) }, now);
    throw new AppError('share_link_used_up', 'The view limit of the link has been reached.');
  }
  const actor = { accountId: link.accountId, ...(reader.ip === undefined ? {} : { ip: reader.ip }) };
  await audit(deps, actor, 'share_links.open', { type: 'share_links', id: link._id }, { vehicle_id: link.vehicleId });
  return opened;
}

async function findLink({ records }: Pick<Deps, 'records'>, slug: string): Promise<ShareLink> {
  const link = await findLinkBySlug(records, slug);
  if (link === null || link.slug !== slug) throw new AppError('not_found', 'There is no such share link.');
  return link;
}

async function withVehicle(deps: LinkDeps, link: ShareLink, now: Date): Promise<OpenedLink> {
  const vehicle = (await vehiclesById(deps.records, link, [link.vehicleId])).get(link.vehicleId);
  if (vehicle === undefined) throw new AppError('share_link_revoked', 'The link has been revoked.');
  const { imei } = vehicle;
  const states = await readLiveStates(deps, imei === null ? [] : [imei], now.getTime());
  return { link, vehicle, liveState: states.get(imei ?? '') ?? neverConnected };
}

// Every attempt counts, from any address: a short password would not withstand guesses from many addresses for long.
async function requirePassword({ limits }: Pick<Deps, 'limits'>, link: ShareLink, reader: Reader): Promise<void> {
  if (link.passwordHash === null) return;
  const { password, context } = reader;
  if (password === undefined || password === '')
    throw new AppError('share_password', 'The link requires a password. Send it in the header X-Share-Password.');
  await limits.consume('shareLink', `link:${createHash('sha256').update(link.slug).digest('hex')}`, context);
  for (const each of passwordCandidates(password)) if (await isPassword(link.passwordHash, each)) return;
  throw new AppError('share_password', 'The password of the link is wrong.');
}

/** A page that stays open reconnects with its ticket. */
const ticketLifetimeMs = 12 * hourMs;
const ticketPurpose = 'share link ticket';

const createTicket = ({ encryption }: Pick<Deps, 'encryption'>, link: ShareLink, now: Date): string =>
  encryption.seal(`${link._id}:${now.getTime() + ticketLifetimeMs}`, ticketPurpose);

function isTicketOf({ encryption }: Pick<Deps, 'encryption'>, link: ShareLink, ticket: string, now: Date): boolean {
  const [id, untilMs] = (encryption.tryOpen(ticket, ticketPurpose) ?? '').split(':').map(Number);
  return id === link._id && untilMs !== undefined && untilMs > now.getTime();
}
