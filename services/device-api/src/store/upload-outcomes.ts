import { AppError, type ErrorCode } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';

/** Long enough for every request that waits for the same camera. */
const ttlMs = 15_000;

const redisKey = (uploadId: string): string => `upload-outcome:${uploadId}`;

/** Outcome of an upload request. */
export type UploadOutcome =
  | { readonly accepted: true }
  | {
      readonly accepted: false;
      readonly code: ErrorCode;
      readonly message: string;
      readonly headers: Readonly<Record<string, string>>;
    };

/** Saves the outcome of an upload request for the requests that wait for it on any replica. */
export async function saveUploadOutcome(redis: Redis, uploadId: string, outcome: UploadOutcome): Promise<void> {
  await redis.set(redisKey(uploadId), JSON.stringify(outcome), { expiration: { type: 'PX', value: ttlMs } });
}

/** Returns the outcome of an upload request, or null. */
export async function readUploadOutcome(redis: Redis, uploadId: string): Promise<UploadOutcome | null> {
  const text = await redis.get(redisKey(uploadId));
  return text === null ? null : (JSON.parse(text) as UploadOutcome);
}

export const toUploadOutcome = (error: unknown): UploadOutcome =>
  error instanceof AppError
    ? { accepted: false, code: error.code, message: error.message, headers: { ...error.headers } }
    : { accepted: false, code: 'internal', message: 'An unexpected error occurred.', headers: {} };

export const toAppError = (outcome: UploadOutcome & { accepted: false }): AppError =>
  new AppError(outcome.code, outcome.message, { headers: { ...outcome.headers } });
