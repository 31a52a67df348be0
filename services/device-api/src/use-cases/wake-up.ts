import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '@fleet/bus';
import { readDevice } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { answerOf } from '../domain/outcome.ts';
import { within } from '../domain/within.ts';
import { askDevice, stateLimitMs, unlessStopped } from './ask-device.ts';
import { type MessageDeps, sendWakeMessage } from './send-wake-message.ts';

type WakeDeps = Pick<Deps, 'asker' | 'stopped'> & MessageDeps;

/** How often a request that waits looks for the device: it may connect, or come back on another gateway pod. */
const lookEveryMs = 1_000;

/** Wakes a sleeping device. Whatever it answers, it is awake then. */
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
 * One request's wait: a query, which the gateway that holds the session repeats until it is answered (docs/decisions/0003-wake-up.md); another where the
 * device has come to another gateway; and an SMS, where a provider is configured, for one that is not connected or stays silent.
 */
class WakeUp {
  readonly #deps: WakeDeps;
  readonly #imei: string;
  readonly #context: CommandContext;
  readonly #startedAtMs = performance.now();
  readonly #asks = new Map<object, Promise<Ended>>();
  /** The gateway pod that is thought to have the latest query. */
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
    // A query that is left behind when another was answered first.
    asked.catch((error: unknown) => this.#context.log.debug({ err: error }, 'a query to wake a device was given up'));
    this.#asks.set(ask, asked);
  }

  /** How a query ended is how the request ends, unless there is hope left. */
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
      this.#context.log.debug({ err: error }, 'the state of a device that is to wake up can not be read');
      return undefined;
    }
  }
}
