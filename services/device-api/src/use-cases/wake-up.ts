import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '@fleet/bus';
import { readDevice } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { unwrapResponse } from '../domain/outcome.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { abortOnShutdown, sendCommand, stateTimeoutMs } from './send-command.ts';
import { sendWakeSms, type WakeSmsDeps } from './send-wake-sms.ts';

type WakeDeps = Pick<Deps, 'commandClient' | 'stopped'> & WakeSmsDeps;

/** Poll interval of a waiting request: the device may connect, or reconnect to another gateway pod. */
const pollIntervalMs = 1_000;

/** Wakes a sleeping device. After any response it is awake. */
export async function wakeUp(
  deps: WakeDeps,
  request: { imei: string },
  context: CommandContext,
): Promise<{ result: 'success' }> {
  unwrapResponse(await abortOnShutdown(deps.stopped, new WakeUpAttempt(deps, request.imei, context).run()));
  return { result: 'success' };
}

interface QueryResult {
  readonly query: object;
  readonly outcome: Outcome;
}

/**
 * The wait of one request. Sends a query, which the gateway repeats until the device responds
 * (docs/decisions/0003-wake-up.md), and another one after a reconnection to another gateway. Sends an SMS to a
 * disconnected or silent device if a provider is configured.
 */
class WakeUpAttempt {
  readonly #deps: WakeDeps;
  readonly #imei: string;
  readonly #context: CommandContext;
  readonly #startedAtMs = performance.now();
  readonly #queries = new Map<object, Promise<QueryResult>>();
  /** Gateway pod of the latest query. */
  #podId: string | undefined;
  #smsState: 'notYet' | 'underWay' | 'sent' | 'none' = 'notYet';

  constructor(deps: WakeDeps, imei: string, context: CommandContext) {
    this.#deps = deps;
    this.#imei = imei;
    this.#context = context;
  }

  async run(): Promise<Outcome> {
    this.#startQuery();
    while (!this.#deps.stopped.aborted) {
      const result = await Promise.race([...this.#queries.values(), delay(pollIntervalMs, undefined, { ref: false })]);
      const outcome = await (result === undefined ? this.#poll() : this.#onResult(result));
      if (outcome !== undefined) return outcome;
    }
    return { kind: 'timedOut' };
  }

  #startQuery(): void {
    const query = {};
    const result = sendCommand(this.#deps, this.#imei, { kind: 'wakeUp' }, this.#context).then((outcome) => ({
      query,
      outcome,
    }));
    // A query that is left pending when another one received a response first.
    result.catch((error: unknown) => this.#context.log.debug({ err: error }, 'gave up a wake-up query'));
    this.#queries.set(query, result);
  }

  // The outcome of a query is that of the request, unless another attempt may succeed.
  async #onResult({ query, outcome }: QueryResult): Promise<Outcome | undefined> {
    this.#queries.delete(query);
    if (outcome.kind === 'answered' || outcome.kind === 'unreadable') return outcome;
    if (this.#queries.size > 0) return undefined;
    if (outcome.kind !== 'notConnected') return outcome;
    this.#podId = undefined;
    await this.#sendSms();
    return this.#smsState === 'none' ? outcome : undefined;
  }

  async #poll(): Promise<Outcome | undefined> {
    const hasOpenQuery = this.#queries.size > 0;
    if (!hasOpenQuery && performance.now() >= this.#context.deadlineAtMs) return { kind: 'timedOut' };
    const isSilent = performance.now() - this.#startedAtMs >= this.#deps.config.WAKE_SMS_AFTER_MS;
    if (hasOpenQuery ? isSilent && this.#smsState === 'notYet' : this.#smsState === 'underWay') await this.#sendSms();
    const podId = await this.#readPodId();
    if (podId !== undefined && podId !== this.#podId) {
      const isQueryRouted = hasOpenQuery && this.#podId === undefined;
      this.#podId = podId;
      if (!isQueryRouted) this.#startQuery();
    }
    return !hasOpenQuery && this.#queries.size === 0 && this.#smsState === 'none'
      ? { kind: 'notConnected' }
      : undefined;
  }

  async #sendSms(): Promise<void> {
    this.#smsState = await sendWakeSms(this.#deps, this.#imei, this.#context);
  }

  async #readPodId(): Promise<string | undefined> {
    try {
      return (await withTimeout(stateTimeoutMs, readDevice(this.#deps.redis, this.#imei)))?.podId;
    } catch (error) {
      this.#context.log.debug({ err: error }, 'could not read the state of a device to wake');
      return undefined;
    }
  }
}
