import { callUseCase, deviceApi } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { callDevice, type RequestTrace } from '../dashcam/call-device.ts';
import { type RecordStreamDeps, recordingTimeoutMs, recordStream } from './record-stream.ts';
import type { Capture, CaptureStep } from './schema.ts';
import { type ShootDeps, type ShootResult, shoot } from './shoot.ts';
import { type CaptureChange, changeCapture } from './store.ts';

/** Dependencies of running a capture. */
export type RunDeps = ShootDeps & RecordStreamDeps & Pick<Deps, 'records'>;

/** Longest time of each step, after which another process takes over. */
const leaseMarginMs = 10_000;
const leaseMs: Readonly<Record<CaptureStep, number>> = {
  waking: 91_000 + leaseMarginMs,
  shooting: 20_000 + leaseMarginMs,
  // The camera has 91 seconds to start its stream; see also `recordingTimeoutMs`.
  recording: 91_000 + leaseMarginMs,
  arriving: 0,
};

/** Returns when another process may take over a capture that begins a step now. */
export function leaseEnd(step: CaptureStep, capture: Pick<Capture, 'durationSeconds' | 'expiresAt'>): Date {
  // Only its expiry is left.
  if (step === 'arriving') return capture.expiresAt;
  const recordingMs = step === 'recording' ? recordingTimeoutMs(capture) : 0;
  return new Date(Date.now() + leaseMs[step] + recordingMs);
}

/**
 * Advances a capture until only its files are missing, or until it fails. A capture that a crashed process left
 * continues with its step: a retry of the command joins the first one. Throws if the database is unavailable.
 */
export async function runCapture(
  deps: RunDeps,
  capture: Capture,
  trace: RequestTrace,
  { isRepeated = false }: { readonly isRepeated?: boolean } = {},
): Promise<void> {
  let current = capture;
  let isRetry = isRepeated;
  try {
    while (current.status === 'pending' && current.step !== 'arriving') {
      current = await runStep(deps, current, trace, isRetry);
      isRetry = false;
    }
  } catch (error) {
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
      await callDevice((options) => callUseCase(deps.bus, deviceApi.wakeUp, { imei: capture.imei }, options), trace);
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
  changeIfPending(deps, capture, { ...more, step, leasedUntil: leaseEnd(step, capture) });

// A picture may have completed the capture before the response of the terminal arrived.
const changeIfPending = ({ records }: RunDeps, capture: Capture, change: CaptureChange): Promise<Capture> =>
  changeCapture(records, capture, ({ status }) => (status === 'pending' ? change : null));

const toFailure = (error: unknown): AppError =>
  error instanceof AppError ? error : new AppError('internal', 'An unexpected error occurred.');
