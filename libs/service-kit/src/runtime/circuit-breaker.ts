import CircuitBreaker from 'opossum';

/** Settings of a circuit breaker. */
interface CircuitBreakerOptions {
  /** Opens only after this many calls within a minute. */
  readonly volumeThreshold: number;
  /** Time until one call tests an open circuit breaker. */
  readonly resetTimeoutMs: number;
  /** Returns false for errors that say nothing about the provider's health, such as a rejected request. */
  readonly isFailure?: (error: unknown) => boolean;
}

const windowMs = 60_000;
const errorThresholdPercentage = 50;

/**
 * Creates the circuit breaker of a provider: it opens when half of the last minute's calls failed. Calls have time-outs of
 * their own, which also close their connections.
 */
export function createCircuitBreaker<Args extends unknown[], Result>(
  call: (...args: Args) => Promise<Result>,
  { volumeThreshold, resetTimeoutMs, isFailure }: CircuitBreakerOptions,
): CircuitBreaker<Args, Result> {
  return new CircuitBreaker(call, {
    timeout: false,
    rollingCountTimeout: windowMs,
    errorThresholdPercentage,
    volumeThreshold,
    resetTimeout: resetTimeoutMs,
    ...(isFailure === undefined ? {} : { errorFilter: (error: unknown) => !isFailure(error) }),
  });
}
