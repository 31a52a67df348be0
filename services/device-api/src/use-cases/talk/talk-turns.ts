import { randomUUID } from 'node:crypto';
import { type Bus, publish, subscribe, talkTaken } from '@fleet/bus';
import { AppError, type Logger } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import { withTimeout } from '../../domain/with-timeout.ts';
import { isTurnTaken, releaseTurn, renewTurn, type TalkHolder, takeTurn } from '../../store/talk-turns.ts';
import { stateTimeoutMs } from '../send-command.ts';

/** The right to talk to a device, which one caller has at a time. */
interface Turn {
  /** Aborted when a manager has taken the turn. */
  readonly lost: AbortSignal;
  /** Channel of the talker from whom the turn was taken; null if it was free. */
  readonly previousChannel: number | null;
  release(): Promise<void>;
}

/** A dead process must not block a device for long. */
const turnTtlMs = 6_000;
const renewIntervalMs = 2_000;

const busyError = (): AppError =>
  new AppError('camera_busy', 'Another user talks to this device. A manager may take over with force=true.');

/** Turns of this process: one talker a device on all replicas together. */
export class TalkTurns {
  readonly #redis: Redis;
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #held = new Map<string, { readonly holder: TalkHolder; readonly lost: AbortController }>();
  readonly #subscription: { stop(): void };

  constructor({ redis, bus, log }: { readonly redis: Redis; readonly bus: Bus; readonly log: Logger }) {
    this.#redis = redis;
    this.#bus = bus;
    this.#log = log;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid talk event');
    this.#subscription = subscribe(bus, talkTaken, onError, ({ imei, talkId }) => {
      const turn = this.#held.get(imei);
      if (turn !== undefined && turn.holder.talkId !== talkId) turn.lost.abort();
    });
  }

  /** Takes the turn of a device; throws 409 while somebody else has it, unless it is taken by force. */
  async take(imei: string, channel: number, { isForced }: { readonly isForced: boolean }): Promise<Turn> {
    const holder: TalkHolder = { talkId: randomUUID(), channel };
    const previous = await this.#access(takeTurn(this.#redis, imei, holder, { ttlMs: turnTtlMs, isForced }));
    if (previous !== null && !isForced) throw busyError();
    if (previous !== null) publish(this.#bus, talkTaken, { imei, talkId: holder.talkId });
    const lost = new AbortController();
    this.#held.get(imei)?.lost.abort();
    this.#held.set(imei, { holder, lost });
    const renewal = setInterval(() => void this.#renew(imei, holder, lost), renewIntervalMs);
    return {
      lost: lost.signal,
      previousChannel: previous?.channel ?? null,
      release: async () => {
        clearInterval(renewal);
        if (this.#held.get(imei)?.holder === holder) this.#held.delete(imei);
        // It expires by itself.
        await releaseTurn(this.#redis, imei, holder).catch((error: unknown) =>
          this.#log.warn({ err: error, imei }, 'could not release a turn to talk'),
        );
      },
    };
  }

  /** Throws 409 while somebody has the turn of a device. */
  async assertFree(imei: string): Promise<void> {
    if (await this.#access(isTurnTaken(this.#redis, imei))) throw busyError();
  }

  stop(): void {
    this.#subscription.stop();
  }

  // The event may have been lost. Without Redis a talk continues.
  async #renew(imei: string, holder: TalkHolder, lost: AbortController): Promise<void> {
    try {
      if (!(await renewTurn(this.#redis, imei, holder, turnTtlMs))) lost.abort();
    } catch (error) {
      this.#log.warn({ err: error, imei }, 'could not renew a turn to talk');
    }
  }

  async #access<T>(access: Promise<T>): Promise<T> {
    try {
      return await withTimeout(stateTimeoutMs, access);
    } catch (cause) {
      throw new AppError('upstream_error', 'The state of the device cannot be read at the moment. Retry.', { cause });
    }
  }
}
