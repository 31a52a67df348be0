import { type Bus, BusError, findDevice, request } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { UtcOffset } from '../domain/camera-time.ts';

const findLimitMs = 3_000;
/** Short: a changed record counts from then on, and a partner's loop over one device asks once. */
const keepMs = 5_000;
const keptAtMost = 10_000;

/**
 * The clocks of cameras, as platform-api has them on record; a device without a record has the standard's, +08:00. When nobody can say, the request is
 * refused: a default in place of a record would list, play and upload the wrong hours, and nobody would notice.
 */
export class CameraClocks {
  readonly #bus: Bus;
  readonly #known = new Map<string, { readonly offset: UtcOffset; readonly untilMs: number }>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Offset of a device's clock (`imei` is the canonical number); 503 when platform-api can not be asked, or the code where 503 is not listed. */
  async offsetOf(
    imei: string,
    context: { correlationId: string },
    unavailable: 'unavailable' | 'internal' = 'unavailable',
  ): Promise<UtcOffset> {
    const known = this.#known.get(imei);
    if (known !== undefined && known.untilMs > performance.now()) return known.offset;
    return (await this.recordOf(imei, context, unavailable)).offset;
  }

  /** The clock of a device and the account that it is of, as they are on record now. */
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
      throw new AppError(unavailable, "The camera's UTC offset can not be looked up at the moment.", { cause });
    }
  }

  #keep(imei: string, offset: UtcOffset, nowMs: number): void {
    // The oldest goes first: insertion order is order of age.
    this.#known.delete(imei);
    this.#known.set(imei, { offset, untilMs: nowMs + keepMs });
    if (this.#known.size <= keptAtMost) return;
    const [oldest] = this.#known.keys();
    if (oldest !== undefined) this.#known.delete(oldest);
  }
}
