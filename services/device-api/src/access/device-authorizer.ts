import { terminalKey } from '@fleet/jt808';
import { AppError, type RequestContext, type Route } from '@fleet/service-kit';
import type { Deps } from '../deps.ts';
import { notConnectedError } from '../domain/outcome.ts';
import { uploadNotFoundError } from '../domain/upload.ts';
import { notStreamingError } from '../use-cases/find-stream-source.ts';
import { findUpload } from '../use-cases/find-upload.ts';
import type { ValidatedInput } from './guard.ts';
import type { RateLimits } from './rate-limits.ts';

/** Returns the canonical number of a terminal; throws 400 for an invalid one. */
export function canonicalImei(imei: string): string {
  const key = terminalKey(imei);
  if (key === null) throw new AppError('validation_failed', 'The parameter imei is not a terminal number.');
  return key;
}

/** Checks the account of the device or upload of a request, and counts commands and opened channels. */
export function createDeviceAuthorizer({ guard, uploads }: Pick<Deps, 'guard' | 'uploads'>, limits: RateLimits) {
  /**
   * Counts a use of a device. A device of another account responds like a missing one here too, and its bucket is not
   * counted.
   */
  const authorizeAndConsume = async (
    bucket: 'command' | 'stream',
    name: string,
    {
      imei,
      route,
      context,
      createError,
    }: { imei: string; route: Route; context: RequestContext; createError: () => AppError },
  ): Promise<void> => {
    const isOtherTenant = await guard.isOtherTenant(imei, route, context);
    await limits.consume(
      bucket,
      isOtherTenant ? `not of account ${guard.getAccountId(context)}:${name}` : name,
      context,
    );
    if (isOtherTenant) throw createError();
  };
  const authorizeUpload = async (
    uploadId: string,
    route: Route,
    input: ValidatedInput,
    context: RequestContext,
  ): Promise<void> => {
    const upload = await findUpload({ uploads }, uploadId.toLowerCase());
    const { imei } = upload.clip;
    if ((await guard.filterOwnUploads(imei, [upload], route, context)).length === 0) throw uploadNotFoundError();
    if (route.bucket === 'command') {
      // The clip may belong to the caller although the camera does not any more.
      await authorizeAndConsume('command', imei, { imei, route, context, createError: notConnectedError });
    }
    guard.auditUse(imei, route, input, context);
  };
  return async (route: Route, input: ValidatedInput, context: RequestContext): Promise<void> => {
    const { video_id: uploadId } = input.query as { video_id?: string };
    if (uploadId !== undefined) return authorizeUpload(uploadId, route, input, context);
    if (route.bucket !== 'command' && route.bucket !== 'stream') return;
    const { imei, channel } = { ...(input.query as object), ...(input.params as object) } as {
      imei: string;
      channel?: number;
    };
    const key = canonicalImei(imei);
    const isStream = route.bucket === 'stream';
    const createError = isStream ? notStreamingError : notConnectedError;
    await authorizeAndConsume(route.bucket, isStream ? `${key}:${channel}` : key, {
      imei: key,
      route,
      context,
      createError,
    });
    guard.auditUse(key, route, input, context);
  };
}
