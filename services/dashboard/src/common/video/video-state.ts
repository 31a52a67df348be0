import { ApiFailure, type components } from '@fleet/api-client';

export type Stream = components['schemas']['Stream'];
export type StreamType = 'LOW' | 'HIGH';
export type StreamPhase = NonNullable<Stream['phase']>;

/** Why a start failed, or a stream ended for good. */
export type VideoFailure = 'offline' | 'asleep' | 'refused' | 'busy' | 'limit' | 'forbidden' | 'unsupported' | 'lost';

/** Why a tile rests; the user can resume it. */
export type ParkReason = 'budget' | 'hidden' | 'idle';

/** What a tile shows, and why. */
export type VideoState =
  | { readonly kind: 'stopped' }
  /** Other starts run; `ahead` of them come first. */
  | { readonly kind: 'queued'; readonly ahead: number }
  | { readonly kind: 'starting'; readonly sinceMs: number; readonly phase: StreamPhase | null }
  | { readonly kind: 'playing'; readonly stream: Stream }
  | { readonly kind: 'stalled'; readonly sinceMs: number }
  | { readonly kind: 'retrying'; readonly attempt: number }
  | { readonly kind: 'failed'; readonly reason: VideoFailure; readonly message: string; readonly code: string | null }
  | { readonly kind: 'parked'; readonly reason: ParkReason; readonly atMs: number; readonly picture: string | null }
  /** A user stopped the stream for all viewers. */
  | { readonly kind: 'ended'; readonly atMs: number; readonly picture: string | null };

/** Returns the reason for a failed start, from the error of the API. */
export function readFailure(error: unknown): VideoFailure {
  if (!(error instanceof ApiFailure)) return 'lost';
  if (error.code === 'device_not_connected') return 'offline';
  if (error.code === 'device_timeout') return 'asleep';
  if (error.code === 'quota_exceeded' || error.status === 429) return 'limit';
  if (error.status === 403) return 'forbidden';
  if (error.status === 409) return 'busy';
  return error.status === 502 ? 'refused' : 'lost';
}
