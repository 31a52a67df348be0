import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CaptureOptions } from '@fleet/bus';
import { AppError, type ErrorCode, errorCodes, type RequestContext } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertSubscriptions } from '../billing/subscriptions.ts';
import type { RequestTrace } from '../dashcam/call-device.ts';
import { requireCamera } from '../dashcam/use-cases.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { type VisibleVehicle, visibleVehicle } from '../vehicles/visibility.ts';
import { createClaim } from './claim.ts';
import { captureTimeoutMs } from './rules.ts';
import { type RunDeps, runCapture } from './run-capture.ts';
import type { Capture, CaptureStep } from './schema.ts';
import { captureCollection, captureNotFoundError, findCapture } from './store.ts';

/** Dependencies of captures. */
type CaptureDeps = RunDeps & Pick<Deps, 'config' | 'limits'>;

/** Options of a request, besides those of the capture. */
interface CaptureRequest {
  readonly options: CaptureOptions;
  /** User who requests it; null for a key. */
  readonly requestedBy: number | null;
  readonly trace: RequestTrace;
  /** Id that the caller has chosen. */
  readonly captureId?: string | undefined;
  /** Gets the headers of the rate limit. */
  readonly context?: Pick<RequestContext, 'response'>;
}

const pollIntervalMs = 150;

const createCaptureId = (): string => randomBytes(12).toString('hex');

/**
 * Starts a capture of a vehicle, and returns it as soon as its record exists. Throws 404 for a camera that does not
 * exist, and 429 if the vehicle has too many captures.
 */
export async function startCapture(deps: CaptureDeps, vehicle: Vehicle, request: CaptureRequest): Promise<Capture> {
  const { options, requestedBy, trace, context } = request;
  const { imei, hasAudio } = requireCamera(vehicle, options.channel);
  await assertSubscriptions(deps, vehicle, [vehicle._id]);
  await deps.limits.consume('capture', `vehicle:${vehicle._id}`, context);
  const { channel: channelId, wake, ...details } = options;
  const step: CaptureStep = wake ? 'waking' : details.kind === 'clip' ? 'recording' : 'shooting';
  const requestedAt = new Date();
  const times = { requestedAt, expiresAt: new Date(requestedAt.getTime() + captureTimeoutMs), completedAt: null };
  const capture = await captureCollection(deps.records).insert(vehicle, {
    ...details,
    ...times,
    captureId: request.captureId ?? createCaptureId(),
    commandId: randomBytes(16).toString('hex'),
    vehicleId: vehicle._id,
    imei,
    channelId,
    hasAudio,
    status: 'pending',
    method: details.kind === 'clip' ? 'stream' : null,
    step,
    multimediaIds: null,
    files: [],
    errorCode: null,
    error: null,
    requestedBy,
    ...createClaim(),
  });
  // Not awaited: the capture continues after the response. Another process takes over if this one dies.
  void runCapture(deps, capture, trace).catch((error: unknown) =>
    deps.log.warn({ err: error, captureId: capture.captureId }, 'a capture was interrupted, another process continues'),
  );
  return capture;
}

/**
 * Waits until a capture ends, for at most `waitMs`, and in any case until the terminal has responded. Throws the error
 * of a failed capture.
 */
export async function waitForCapture(
  { records }: Pick<Deps, 'records'>,
  { captureId }: Capture,
  waitMs: number,
): Promise<Capture> {
  const deadlineMs = performance.now() + waitMs;
  for (;;) {
    const capture = await findCapture(records, captureId);
    if (capture === null) throw captureNotFoundError(captureId);
    if (capture.status === 'failed') throw toError(capture);
    const isUnanswered = capture.step === 'waking' || capture.step === 'shooting';
    if (capture.status !== 'pending' || (!isUnanswered && performance.now() >= deadlineMs)) return capture;
    await delay(pollIntervalMs);
  }
}

function toError({ errorCode, error }: Capture): AppError {
  const code = errorCode !== null && errorCode in errorCodes ? (errorCode as ErrorCode) : 'internal';
  const headers = errorCodes[code] === 429 ? { headers: { 'Retry-After': '1' } } : {};
  return new AppError(code, error ?? 'The capture failed.', headers);
}

/** Returns a capture that the caller may see, and its vehicle. Throws 404 for those of other vehicles. */
export async function readCapture(
  deps: Pick<Deps, 'records'>,
  caller: Caller,
  captureId: string,
): Promise<VisibleVehicle & { readonly capture: Capture }> {
  const capture = await findCapture(deps.records, captureId.toLowerCase());
  if (capture === null) throw captureNotFoundError(captureId);
  const visible = await visibleVehicle(deps, caller, capture.vehicleId).catch((error: unknown) => {
    if (error instanceof AppError && error.status === 404) throw captureNotFoundError(captureId);
    throw error;
  });
  // The vehicle was in another account at that time.
  if (visible.vehicle.accountId !== capture.accountId) throw captureNotFoundError(captureId);
  if (!visible.permissions.some((each) => each === 'history_video' || each === 'commands'))
    throw new AppError('permission_denied', 'The permission history_video or commands on the vehicle is missing.');
  return { ...visible, capture };
}
