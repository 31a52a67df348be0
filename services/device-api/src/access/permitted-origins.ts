import { AppError, originsOf, parseOrigins } from '@fleet/service-kit';
import type { Deps } from '../deps.ts';

type OriginSettings = Pick<Deps['config'], 'CORS_ORIGINS' | 'PUBLIC_BASE_URL'>;

/** Returns the origins whose pages may use the video service. Pages of the platform are of another origin. */
export const getPermittedOrigins = (config: OriginSettings): ReadonlySet<string> =>
  config.CORS_ORIGINS === undefined
    ? originsOf(config.PUBLIC_BASE_URL)
    : parseOrigins('CORS_ORIGINS', config.CORS_ORIGINS);

/**
 * Throws 403 for a page of a foreign origin. Without credentials only the network protects a websocket, and browsers
 * open websockets for any page.
 */
export function assertOriginPermitted(config: OriginSettings, origin: string | undefined): void {
  if (origin === undefined) return;
  const origins = getPermittedOrigins(config);
  if (origins.has('*') || origins.has(origin)) return;
  throw new AppError('origin_not_allowed', 'Talk is not allowed from this origin. Add it to CORS_ORIGINS.');
}
