import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '@fleet/bus';
import { readDevice } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { answerOf } from '../domain/outcome.ts';
import { within } from '../domain/within.ts';
import { askDevice, stateLimitMs, unlessStopped } from './ask-device.ts';
import { type MessageDeps, sendWakeMessage } from './send-wake-message.ts';

type WakeDeps = Pick<Deps, 'asker' | 'stopped'> & MessageDeps;

/** Poll interval of a waiting request: the device may connect, or reconnect to another gateway pod. */
const lookEveryMs = 1_000;

/** Wakes a sleeping device. After any response it is awake. */
export async function wakeUp(
  deps: WakeDeps,
  request: { imei: string },
  context: CommandContext,
): Promise<{ result: 'success' }> {
  answerOf(await unlessStopped(deps.stopped, new WakeUp(deps, request.imei, context).run()));
  return { result: 'success' };
}

interface Ended {
  readonly ask: object;
  readonly outcome: Outcome;
}

/**
 * The wait of one request. Sends a query, which the gateway repeats until the device responds
 * (docs/decisions/0003-wake-up.md), and another one after a reconnection to another gateway. Sends an SMS to a
 * disconnected or silent device if a provider is configured.
 */
class WakeUp {
  readonly #deps: WakeDeps;
  readonly #imei: string;
  readonly #context: CommandContext;
  readonly #startedAtMs = performance.now();
  readonly #asks = new Map<object, Promise<Ended>>();
  /** Gateway pod of the latest query. */
  #podId: string | undefined;
  #message: 'notYet' | 'underWay' | 'sent' | 'none' = 'notYet';

  constructor(deps: WakeDeps, imei: string, context: CommandContext) {
    this.#deps = deps;
    this.#imei = imei;
    this.#context = context;
  }

  async run(): Promise<Outcome> {
    this.#ask();
    while (!this.#deps.stopped.aborted) {
      const ended = await Promise.race([...this.#asks.values(), delay(lookEveryMs, undefined, { ref: false })]);
      const outcome = await (ended === undefined ? this.#look() : this.#take(ended));
      if (outcome !== undefined) return outcome;
    }
    return { kind: 'timedOut' };
  }

  #ask(): void {
    const ask = {};
    const asked = askDevice(this.#deps, this.#imei, { kind: 'wakeUp' }, this.#context).then((outcome) => ({
      ask,
      outcome,
    }));
    // A query that is left pending when another one was answered first.
    asked.catch((error: unknown) => this.#context.log.debug({ err: error }, 'gave up a wake-up query'));
    this.#asks.set(ask, asked);
  }

  /** The outcome of a query is that of the request, unless another attempt may succeed. */
  async #take({ ask, outcome }: Ended): Promise<Outcome | undefined> {
    this.#asks.delete(ask);
    if (outcome.kind === 'answered' || outcome.kind === 'unreadable') return outcome;
    if (this.#asks.size > 0) return undefined;
    if (outcome.kind !== 'notConnected') return outcome;
    this.#podId = undefined;
    await this.#send();
    return this.#message === 'none' ? outcome : undefined;
  }

  async #look(): Promise<Outcome | undefined> {
    const isAsking = this.#asks.size > 0;
    if (!isAsking && performance.now() >= this.#context.deadlineAtMs) return { kind: 'timedOut' };
    const isSilent = performance.now() - this.#startedAtMs >= this.#deps.config.WAKE_SMS_AFTER_MS;
    if (isAsking ? isSilent && this.#message === 'notYet' : this.#message === 'underWay') await this.#send();
    const podId = await this.#podOfDevice();
    if (podId !== undefined && podId !== this.#podId) {
      const isAnswering = isAsking && this.#podId === undefined;
      this.#podId = podId;
      if (!isAnswering) this.#ask();
    }
    return !isAsking && this.#asks.size === 0 && this.#message === 'none' ? { kind: 'notConnected' } : undefined;
  }

  async #send(): Promise<void> {
    this.#message = await sendWakeMessage(this.#deps, this.#imei, this.#context);
  }

  async #podOfDevice(): Promise<string | undefined> {
    try {
      return (await within(stateLimitMs, readDevice(this.#deps.redis, this.#imei)))?.podId;
    } catch (error) {
      this.#context.log.debug({ err: error }, 'could not read the state of a device to wake');
      return undefined;
    }
  }
}
