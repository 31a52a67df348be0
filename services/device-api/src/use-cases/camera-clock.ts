import { type Bus, BusError, findDevice, request } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { UtcOffset } from '../domain/camera-time.ts';

const findLimitMs = 3_000;
/** Short, so that a changed record takes effect soon; a partner's loop over one device sends one request. */
const keepMs = 5_000;
const keptAtMost = 10_000;

/**
 * Returns the UTC offsets of cameras from platform-api's records; a device without a record has the standard's, +08:00.
 * Fails if platform-api is unreachable: a default instead of a record would list, play and upload the wrong hours
 * unnoticed.
 */
export class CameraClocks {
  readonly #bus: Bus;
  readonly #known = new Map<string, { readonly offset: UtcOffset; readonly untilMs: number }>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /**
   * Returns the offset of a device's clock (`imei` is the canonical number); throws 503 if platform-api is unreachable,
   * or the given code if 503 is not listed.
   */
  async offsetOf(
    imei: string,
    context: { correlationId: string },
    unavailable: 'unavailable' | 'internal' = 'unavailable',
  ): Promise<UtcOffset> {
    const known = this.#known.get(imei);
    if (known !== undefined && known.untilMs > performance.now()) return known.offset;
    return (await this.recordOf(imei, context, unavailable)).offset;
  }

  /** Returns the current record of a device: its offset and its account. */
  async recordOf(
    imei: string,
    context: { correlationId: string },
    unavailable: 'unavailable' | 'internal' = 'unavailable',
  ): Promise<{ readonly offset: UtcOffset; readonly accountId: number | null }> {
    const nowMs = performance.now();
    try {
      const options = { timeoutMs: findLimitMs, correlationId: context.correlationId };
      const { cameraUtcOffset, accountId } = await request(this.#bus, findDevice, { imei }, options);
      this.#keep(imei, cameraUtcOffset, nowMs);
      return { offset: cameraUtcOffset, accountId };
    } catch (cause) {
      if (!(cause instanceof BusError)) throw cause;
      throw new AppError(unavailable, "The camera's UTC offset cannot be looked up at the moment.", { cause });
    }
  }

  #keep(imei: string, offset: UtcOffset, nowMs: number): void {
    // Evicts the oldest entry: insertion order is order of age.
    this.#known.delete(imei);
    this.#known.set(imei, { offset, untilMs: nowMs + keepMs });
    if (this.#known.size <= keptAtMost) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}
