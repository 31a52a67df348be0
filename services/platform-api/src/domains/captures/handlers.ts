import { type Bus, captureMedia, serveUseCase } from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { holderUrlBuilder } from '../media/urls.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { toCaptureResponse } from './responses.ts';
import type { Capture } from './schema.ts';
import { findCapture } from './store.ts';
import { startCapture, waitForCapture } from './use-cases.ts';

/** Serves `platform-api.capture-media`. */
export const serveCaptures = (bus: Bus, deps: Deps, onError: (error: unknown) => void): Running =>
  serveUseCase(
    bus,
    captureMedia,
    { queue: 'platform-api', onError },
    async ({ imei, caller, maySeeFiles, waitSeconds, captureId, ...options }, { correlationId }) => {
      const vehicle = await vehicleByImei(deps.records, imei);
      if (vehicle === null) throw new AppError('vehicle_not_found', 'No vehicle has this device.');
      const requestedBy = caller?.kind === 'user' ? caller.id : null;
      const started =
        (await findRepeated(deps, vehicle, captureId)) ??
        (await startCapture(deps, vehicle, { options, requestedBy, captureId, trace: { correlationId } }));
      const capture = await waitForCapture(deps, started, waitSeconds * 1000);
      // Without credentials everybody may see everything, like the owner of the vehicle.
      const holder = caller ?? { kind: 'user', id: vehicle.ownerUserId };
      const buildUrl = maySeeFiles ? holderUrlBuilder(deps, holder) : null;
      return {
        isEnded: capture.status !== 'pending',
        capture: { ...(await toCaptureResponse(deps, capture, buildUrl)) },
      };
    },
  );

/** Returns the capture of a repeated request: the process that started it has died. */
async function findRepeated(
  { records }: Pick<Deps, 'records'>,
  { _id: vehicleId, accountId }: Vehicle,
  captureId: string | undefined,
): Promise<Capture | null> {
  const found = captureId === undefined ? null : await findCapture(records, captureId);
  return found?.vehicleId === vehicleId && found.accountId === accountId ? found : null;
}
