import { setTimeout as delay } from 'node:timers/promises';
import { ErrorCode, NatsError } from 'nats';

/** An election after the loss of a server takes this long on a machine under load. */
const electionTimeoutMs = 60_000;
const retryIntervalMs = 500;
const notFoundCode: string = ErrorCode.JetStream404NoMessages;
/** Both "no responders" and "JetStream system temporarily unavailable" have the code 503. */
const unavailableCodes: ReadonlySet<string> = new Set([ErrorCode.Timeout, ErrorCode.NoResponders]);

/** Returns whether a stream or consumer does not exist. */
export const isNotFound = (error: unknown): boolean => error instanceof NatsError && error.code === notFoundCode;

/** Returns whether servers may accept the same request later: they elect a leader. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof NatsError && unavailableCodes.has(error.code);

/** Repeats a request while servers elect a leader, for at most a minute. */
export async function untilAvailable<Result>(request: () => Promise<Result>): Promise<Result> {
  const deadlineMs = performance.now() + electionTimeoutMs;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!isUnavailable(error) || performance.now() > deadlineMs) throw error;
      await delay(retryIntervalMs);
    }
  }
}
