import { streamStatusEvent } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { publishLive } from '../../event-consumers/publish-live.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { getSharedAddresses } from '../video-access/stream-urls.ts';
import { toStreamEvent } from './responses.ts';
import type { StreamPhase, StreamResponse } from './schema.ts';

/** The start of a stream. */
interface StreamStart {
  readonly vehicle: Vehicle;
  readonly imei: string;
  readonly channel: number;
  readonly streamType: number;
}

/**
 * Publishes the progress of a start as `stream` events, so that pages show it while the request runs. The later phases
 * come from the video service.
 */
export class StartPhases {
  readonly #deps: Pick<Deps, 'bus' | 'config'>;
  readonly #start: StreamStart;
  readonly #isNew: boolean;

  /** A stream that runs already gets no phases: its viewers would see a start. */
  constructor(deps: Pick<Deps, 'bus' | 'config'>, start: StreamStart, { isNew }: { readonly isNew: boolean }) {
    this.#deps = deps;
    this.#start = start;
    this.#isNew = isNew;
  }

  publish(phase: Extract<StreamPhase, 'waking' | 'requested'>): void {
    this.#publish('starting', { phase, reason: null });
  }

  /** Publishes the reason of a failed start. */
  publishFailure(error: unknown): void {
    const reason = error instanceof AppError ? { code: error.code, text: error.message } : null;
    this.#publish('stopped', { phase: null, reason });
  }

  #publish(status: 'starting' | 'stopped', progress: Pick<StreamResponse, 'phase' | 'reason'>): void {
    if (!this.#isNew) return;
    const { bus, config } = this.#deps;
    const { vehicle, streamType, ...stream } = this.#start;
    const state = toStreamEvent(vehicle, streamStatusEvent(stream, status, streamType));
    const data = { ...state, ...progress, ...getSharedAddresses(config.VIDEO_BASE_URL, stream) };
    publishLive(bus, vehicle.accountId, [{ type: 'stream', vehicleId: vehicle._id, data }]);
  }
}
