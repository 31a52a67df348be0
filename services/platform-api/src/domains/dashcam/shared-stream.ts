import { guestChannels, streamStatusEvent } from '@fleet/bus';
import { AppError, type RequestContext, singleSchema } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { findDataLimit } from '../data-usage/use-cases.ts';
import { openLinkSocket } from '../share-links/open-link.ts';
import { slugPattern } from '../share-links/rules.ts';
import { createGuestAddresses } from '../video-access/stream-urls.ts';
import { toStreamEvent } from './responses.ts';
import { streamResponseSchema } from './schema.ts';
import { readStreamState } from './stream-state.ts';

const body = Type.Object({
  channel_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 255,
      alias: 'channelId',
      description: 'One of `channels` of the shared view; the first one by default.',
    }),
  ),
  ticket: Type.Optional(
    Type.String({
      maxLength: 1_024,
      description: 'The ticket of `ws_url`: the password was checked and the view counted already.',
    }),
  ),
});

/** A stream without anything that names the device or the vehicle. */
const sharedStreamSchema = Type.Object(Type.Omit(streamResponseSchema, ['imei', 'vehicle_id', 'talk_url']).properties, {
  title: 'SharedStream',
});
type SharedStream = Static<typeof sharedStreamSchema>;

type SharedStreamDeps = Pick<
  Deps,
  'bus' | 'config' | 'database' | 'encryption' | 'limits' | 'log' | 'records' | 'redis' | 'streamTokens' | 'thresholds'
>;

/**
 * Returns the addresses and the state of a camera that a link shows. Opening an address starts the stream. Throws 403 if
 * the link includes no live video, 404 for a camera that it does not show, and 429 once the data budget is spent.
 */
async function openSharedStream(
  deps: SharedStreamDeps,
  slug: string,
  { channel_id: wanted, ticket }: Static<typeof body>,
  context: RequestContext,
): Promise<SharedStream> {
  const { request } = context;
  const reader = { password: request.get('x-share-password'), ip: request.ip, context, ticket };
  const { link, vehicle } = await openLinkSocket(deps, slug, reader);
  if (!link.permissions.includes('live_video'))
    throw new AppError('permission_denied', 'The link does not include live video.');
  const visible = vehicle.imei === null ? [] : guestChannels(vehicle.channels);
  const channel = wanted ?? visible[0];
  if (vehicle.imei === null || channel === undefined || !visible.includes(channel))
    throw new AppError('not_found', 'The link does not include this camera.');
  await assertWithinBudget(deps, vehicle.imei);
  const id = { imei: vehicle.imei, channel };
  const state = (await readStreamState(deps, id.imei, channel)) ?? streamStatusEvent(id, 'stopped', 1);
  const { imei: _imei, vehicle_id: _vehicleId, ...stream } = toStreamEvent(vehicle, state);
  return { ...stream, ...(await createGuestAddresses(deps, link, channel)) };
}

/** The address would be refused without a code, and a guest could not know why. */
async function assertWithinBudget(deps: SharedStreamDeps, imei: string): Promise<void> {
  const { limit, retryAfterSeconds } = await findDataLimit(deps, imei);
  if (limit !== 'refuse') return;
  throw new AppError('data_budget_spent', 'The data budget of the vehicle is spent for this month.', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
}

export const sharedStreamRoute = (deps: Deps): PlatformRoute =>
  platformRoute({
    method: 'post',
    path: '/public/share-links/:slug/stream',
    operationId: 'startSharedStream',
    summary: 'Watch a shared camera',
    description:
      'Returns addresses with a token of ten minutes, and the state of the stream. Opening an address starts the stream. A link with a password requires the ticket, or the header X-Share-Password.',
    tags: ['Share links'],
    access: { credentials: 'none' },
    bucket: 'shareLink',
    params: Type.Object({ slug: Type.String({ pattern: slugPattern }) }),
    body,
    bodyIsOptional: true,
    response: singleSchema(sharedStreamSchema),
    errors: {
      401: 'The link requires a password, and X-Share-Password is missing or wrong.',
      403: 'The link does not include live video.',
      404: 'The link does not exist, or shows no such camera.',
      410: 'The link has expired or was revoked, or its view limit has been reached.',
      429: 'Too many requests, or the data budget of the vehicle is spent.',
    },
    handle: async ({ params: { slug }, body: input, context }) => {
      context.response.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' });
      return { data: await openSharedStream(deps, slug, input, context) };
    },
  });
