import { guestChannels } from '@fleet/bus';
import { AppError, type RequestContext, type Route } from '@fleet/service-kit';
import type { Deps } from '../deps.ts';
import { hasMicrophone } from './cameras.ts';
import type { WatchedStream } from './guard.ts';
import { admitHlsReader } from './hls-readers.ts';
import type { RateLimits } from './rate-limits.ts';
import type { ValidatedInput } from './uses.ts';

/** Path of the routes for guests of share links; it names the link instead of a device. */
export const guestPath = '/s/:slug/:channel';

/** Returns whether a route is for guests of share links. */
export const isGuestRoute = ({ path }: Pick<Route, 'path'>): boolean => path.startsWith(guestPath);

/** Stream that a guest watches. */
export interface GuestStream {
  readonly id: WatchedStream;
  readonly hasAudio: boolean;
  /** True unless the guest goes on reading HLS: opening the stream starts it. */
  readonly isOpened: boolean;
}

type GuestDeps = Pick<Deps, 'config' | 'guard' | 'redis'>;

/** Checks what a guest's token shows, and counts the stream that the guest opens. */
export async function authorizeGuest(
  { config, guard, redis }: GuestDeps,
  limits: RateLimits,
  {
    route,
    input,
    context,
  }: { readonly route: Route; readonly input: ValidatedInput; readonly context: RequestContext },
): Promise<void> {
  const { slug, channel } = input.params as { slug: string; channel: number };
  const { linkId, access } = await guard.findGuestAccess(slug, context);
  if (access.imei === null || !guestChannels(access.channels).includes(channel))
    throw new AppError('not_found', `The link shows no camera ${channel}.`);
  const id: WatchedStream = { kind: 'live', imei: access.imei, channel };
  const visible = { id, hasAudio: hasMicrophone(access, channel) };
  if (route.bucket === 'hls') {
    const { isExpired, ...viewer } = guard.getHlsReader(context);
    const isOpened = await admitHlsReader({ config, redis, limits }, { id, viewer, isExpired, context });
    if (isOpened) guard.auditHlsReader(id, access, context);
    else guard.setContinuingReader(context);
    return guard.setGuestStream(context, { ...visible, isOpened });
  }
  await limits.consume('stream', `link:${linkId}:${channel}`, context);
  await guard.trackUse(access.imei, route, input, context, access);
  guard.setGuestStream(context, { ...visible, isOpened: true });
}
