import { type Bus, BusError, findDevice, request } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { UtcOffset } from '../domain/camera-time.ts';

const findDeviceTimeoutMs = 3_000;
/** Short, so that a changed record takes effect soon; a partner's loop over one device sends one request. */
const cacheTtlMs = 5_000;
const maxEntries = 10_000;

/**
 * Returns the UTC offsets of cameras from platform-api's records; a device without a record has the standard's, +08:00.
 * Fails if platform-api is unreachable: a default instead of a record would list, play and upload the wrong hours
 * unnoticed.
 */
export class CameraUtcOffsets {
  readonly #bus: Bus;
  readonly #entries = new Map<string, { readonly offset: UtcOffset; readonly expiresAtMs: number }>();

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
    const cached = this.#entries.get(imei);
    if (cached !== undefined && cached.expiresAtMs > performance.now()) return cached.offset;
    return (await this.fetchRecord(imei, context, errorCode)).offset;
  }

  /** Returns the current record of a device: its offset and its account. */
  async fetchRecord(
    imei: string,
    context: { correlationId: string },
    errorCode: 'unavailable' | 'internal' = 'unavailable',
  ): Promise<{ readonly offset: UtcOffset; readonly accountId: number | null }> {
    const nowMs = performance.now();
    try {
      const options = { timeoutMs: findDeviceTimeoutMs, correlationId: context.correlationId };
      const { cameraUtcOffset, accountId } = await request(this.#bus, findDevice, { imei }, options);
      this.#store(imei, cameraUtcOffset, nowMs);
      return { offset: cameraUtcOffset, accountId };
    } catch (cause) {
      if (!(cause instanceof BusError)) throw cause;
      throw new AppError(errorCode, "The camera's UTC offset cannot be looked up at the moment.", { cause });
    }
  }

  #store(imei: string, offset: UtcOffset, nowMs: number): void {
    // Evicts the oldest entry: insertion order is order of age.
    this.#entries.delete(imei);
    this.#entries.set(imei, { offset, expiresAtMs: nowMs + cacheTtlMs });
    if (this.#entries.size <= maxEntries) return;
    const [oldest] = this.#entries.keys();
    if (oldest !== undefined) this.#entries.delete(oldest);
  }
}
