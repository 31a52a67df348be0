import { type Bus, BusError, findDevice, request } from '@fleet/bus';
import { AppError, TtlCache } from '@fleet/service-kit';
import type { UtcOffset } from '../domain/camera-time.ts';

const findDeviceTimeoutMs = 3_000;
/** Short, so that a changed record takes effect soon; a partner's loop over one device sends one request. */
const cacheTtlMs = 5_000;

/** What platform-api knows about a device; without a vehicle it has no account. */
export interface DeviceRecord {
  readonly offset: UtcOffset;
  readonly accountId: number | null;
  readonly vehicleId: number | null;
  /** Limit on concurrent streams of the account; undefined for the default. */
  readonly maxStreams: number | undefined;
}

/**
 * Returns the UTC offsets of cameras from platform-api's records; a device without a record has the standard's, +08:00.
 * Fails if platform-api is unreachable: a default instead of a record would list, play and upload the wrong hours
 * unnoticed.
 */
export class CameraUtcOffsets {
  readonly #bus: Bus;
  readonly #offsets = new TtlCache<UtcOffset>({ ttlMs: cacheTtlMs });

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /**
   * Returns the offset of a device's clock (`imei` is the canonical number); throws 503 if platform-api is unreachable,
   * or the given code if 503 is not listed.
   */
  async get(
    imei: string,
    context: { correlationId: string },
    errorCode: 'unavailable' | 'internal' = 'unavailable',
  ): Promise<UtcOffset> {
    const cached = this.#offsets.peek(imei);
    if (cached !== undefined) return cached;
    return (await this.fetchRecord(imei, context, errorCode)).offset;
  }

  /** Returns the current record of a device: its offset, its account and its vehicle. */
  async fetchRecord(
    imei: string,
    context: { correlationId: string },
    errorCode: 'unavailable' | 'internal' = 'unavailable',
  ): Promise<DeviceRecord> {
    try {
      const options = { timeoutMs: findDeviceTimeoutMs, correlationId: context.correlationId };
      const { cameraUtcOffset, ...owner } = await request(this.#bus, findDevice, { imei }, options);
      const { accountId, vehicleId = null, maxStreams } = owner;
      this.#offsets.set(imei, cameraUtcOffset);
      return { offset: cameraUtcOffset, accountId, vehicleId, maxStreams };
    } catch (cause) {
      if (!(cause instanceof BusError)) throw cause;
      throw new AppError(errorCode, "The camera's UTC offset cannot be read at the moment. Retry.", { cause });
    }
  }
}
