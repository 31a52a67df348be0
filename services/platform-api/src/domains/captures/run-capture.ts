import { callIdempotentUseCase, deviceApi } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { callDevice, type RequestTrace } from '../dashcam/call-device.ts';
import { ClaimLostError, startClaimRenewal } from './claim.ts';
import { type RecordStreamDeps, recordStream } from './record-stream.ts';
import type { Capture, CaptureStep } from './schema.ts';
import { type ShootDeps, type ShootResult, shoot } from './shoot.ts';
import { type CaptureChange, changeCapture } from './store.ts';

/** Dependencies of running a capture. */
export type RunDeps = ShootDeps & RecordStreamDeps & Pick<Deps, 'records'>;

/**
 * Advances a claimed capture until only its files are missing, or until it fails. A capture that a crashed process left
 * continues with its step: a retry of the command joins the first one. Throws if the database is unavailable, and a
 * `ClaimLostError` if another process has taken over.
 */
export async function runCapture(
  deps: RunDeps,
  capture: Capture,
  trace: RequestTrace,
  options: { readonly isRepeated?: boolean } = {},
): Promise<void> {
  const endClaim = startClaimRenewal(deps, capture);
  try {
    await runSteps(deps, capture, trace, options.isRepeated === true);
  } finally {
    await endClaim();
  }
}

async function runSteps(deps: RunDeps, capture: Capture, trace: RequestTrace, isRepeated: boolean): Promise<void> {
  let current = capture;
  let isRetry = isRepeated;
  try {
    while (current.status === 'pending' && current.step !== 'arriving') {
      current = await runStep(deps, current, trace, isRetry);
      isRetry = false;
    }
  } catch (error) {
    if (error instanceof ClaimLostError) throw error;
    const failure = toFailure(error);
    if (failure.code === 'internal') deps.log.error({ err: error, captureId: capture.captureId }, 'a capture failed');
    await changeIfPending(deps, current, {
      status: 'failed',
      errorCode: failure.code,
      error: failure.message,
      completedAt: new Date(),
    });
  }
}

async function runStep(deps: RunDeps, capture: Capture, trace: RequestTrace, isRepeated: boolean): Promise<Capture> {
  switch (capture.step) {
    case 'waking':
      await callDevice(
        (options) =>
          callIdempotentUseCase(
            deps.bus,
            deviceApi.wakeUp,
            { imei: capture.imei },
            { ...options, isServiceAwaited: true },
          ),
        trace,
      );
      return beginStep(deps, capture, capture.kind === 'clip' ? 'recording' : 'shooting');
    case 'shooting':
      return handleShot(deps, capture, await shoot(deps, capture, { ...trace, isRepeated }));
    case 'recording':
      // The crashed process may have recorded it already.
      if (capture.files.length === 0) await recordStream(deps, capture, trace);
      return beginStep(deps, capture, 'arriving');
    default:
      return capture;
  }
}

function handleShot(deps: RunDeps, capture: Capture, result: ShootResult): Promise<Capture> {
  if (result.kind === 'noSuchChannel')
    throw new AppError('upstream_error', `The device has no camera on channel ${capture.channelId}.`);
  if (result.kind === 'unable') return beginStep(deps, capture, 'recording', { method: 'stream' });
  return beginStep(deps, capture, 'arriving', { multimediaIds: result.multimediaIds });
}

const beginStep = (deps: RunDeps, capture: Capture, step: CaptureStep, more: CaptureChange = {}): Promise<Capture> =>
  changeIfPending(deps, capture, {
    ...more,
    step,
    // Only its expiry is left.
    ...(step === 'arriving' ? { leasedUntil: capture.expiresAt } : {}),
  });

// A picture may have completed the capture before the response of the terminal arrived.
const changeIfPending = ({ records }: RunDeps, capture: Capture, change: CaptureChange): Promise<Capture> =>
  changeCapture(records, capture, ({ status, claimToken }) => {
    if (status !== 'pending') return null;
    if (claimToken !== capture.claimToken) throw new ClaimLostError('another process has taken over the capture');
    return change;
  });

const toFailure = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError('internal', 'An unexpected error occurred.');
