import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Static, TObject } from 'typebox';
import type { Bus } from './connection.ts';
import { BusError, type RequestOptions } from './contract.ts';
import { callUseCase, type UseCase } from './use-case.ts';

/** Several heartbeats: a busy service is not dead. */
const lostAfterMs = 5_000;
/** A service that died is back within this time, or has another replica. */
const returnTimeoutMs = 15_000;
const retryIntervalMs = 250;

/** Options of a repeatable call. */
interface IdempotentCallOptions extends Omit<RequestOptions, 'lostAfterMs'> {
  /** True: also waits for a service that has no replica at first. By default such a call fails at once. */
  readonly isServiceAwaited?: boolean;
}

/**
 * Calls a use case like `callUseCase`, and repeats the call if the service dies while it works on it. The use case must
 * be idempotent: repeated calls have the same body and the same command id.
 */
export async function callIdempotentUseCase<Q extends TObject, A extends TObject>(
  bus: Bus,
  useCase: UseCase<Q, A>,
  body: Static<Q>,
  { timeoutMs, command, isServiceAwaited = false, ...options }: IdempotentCallOptions,
): Promise<Static<A>> {
  const deadlineMs = performance.now() + timeoutMs;
  const getReturnDeadlineMs = (): number => Math.min(deadlineMs, performance.now() + returnTimeoutMs);
  const id = command?.id ?? randomBytes(16).toString('hex');
  let isRetry = command?.isRetry === true;
  let returnDeadlineMs = isServiceAwaited ? getReturnDeadlineMs() : 0;
  for (;;) {
    const remainingMs = Math.max(1, Math.floor(deadlineMs - performance.now()));
    try {
      const attempt = { ...options, timeoutMs: remainingMs, lostAfterMs, command: { id, isRetry } };
      return await callUseCase(bus, useCase, body, attempt);
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      if (error.kind === 'lost') {
        isRetry = true;
        returnDeadlineMs = getReturnDeadlineMs();
      } else if (error.kind !== 'noResponders') throw error;
      if (performance.now() >= returnDeadlineMs) throw error;
      await delay(retryIntervalMs);
    }
  }
}
