import { ApiFailure } from '@fleet/api-client';
import type { SharedView } from './shared-view.ts';

/** When the vehicle arrives, and how far it still has to go. */
export interface Arrival {
  readonly eta: string;
  readonly distance_km: number;
}

type EndReason = 'expired' | 'revoked' | 'usedUp' | 'unknown';

/** What the page shows. */
export type ShareState =
  | { readonly kind: 'opening' }
  /** The link has a password. */
  | { readonly kind: 'locked'; readonly isWrong: boolean }
  | { readonly kind: 'open'; readonly view: SharedView; readonly arrival: Arrival | null }
  | { readonly kind: 'ended'; readonly reason: EndReason }
  | { readonly kind: 'failed'; readonly error: unknown };

const endReasons: Readonly<Record<string, EndReason>> = {
  share_link_expired: 'expired',
  share_link_revoked: 'revoked',
  share_link_used_up: 'usedUp',
};

/** Returns the state after a link could not be opened. */
export function toFailedState(error: unknown, password: string | null): ShareState {
  if (!(error instanceof ApiFailure)) return { kind: 'failed', error };
  if (error.code === 'share_password') return { kind: 'locked', isWrong: password !== null };
  if (error.status === 404) return { kind: 'ended', reason: 'unknown' };
  const reason = error.status === 410 ? endReasons[error.code] : undefined;
  return reason === undefined ? { kind: 'failed', error } : { kind: 'ended', reason };
}

/** Returns why a link ended that the page showed: its end is known. */
export const toEndReason = ({ expires_at: expiresAt }: Pick<SharedView, 'expires_at'>, nowMs: number): EndReason =>
  Date.parse(expiresAt) <= nowMs ? 'expired' : 'revoked';

const maxTrackPoints = 1_000;

/** Returns the view with a newer position; an older one changes nothing. */
export function withLocation(view: SharedView, location: NonNullable<SharedView['location']>): SharedView {
  if (view.location !== null && location.timestamp < view.location.timestamp) return view;
  const lastMs = view.track.at(-1)?.[2] ?? 0;
  const point = [location.latitude, location.longitude, location.timestamp];
  const track = location.timestamp > lastMs ? [...view.track, point].slice(-maxTrackPoints) : view.track;
  return { ...view, location, track };
}

/** Below this distance the vehicle counts as arrived. */
const arrivedKm = 0.1;

/** Returns what the page says about the arrival; null for nothing. */
export function describeArrival(
  { view, arrival }: Pick<Extract<ShareState, { kind: 'open' }>, 'view' | 'arrival'>,
  nowMs: number,
): { kind: 'arrived' | 'offline' } | { kind: 'expected'; timeMs: number; distanceKm: number | null } | null {
  const eta = arrival?.eta ?? view.eta;
  if (view.destination === null || eta === null) return null;
  if (arrival !== null && arrival.distance_km < arrivedKm) return { kind: 'arrived' };
  // An estimate of a vehicle that sends nothing would soon be in the past.
  if (view.state === 'offline' || view.state === 'never_connected') return { kind: 'offline' };
  return { kind: 'expected', timeMs: Math.max(nowMs, Date.parse(eta)), distanceKm: arrival?.distance_km ?? null };
}
