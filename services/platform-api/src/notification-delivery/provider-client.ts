import { setTimeout as delay } from 'node:timers/promises';
import { createCircuitBreaker } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';

/** Thrown when the provider could not accept a message now: retry. */
export class TransientSendError extends Error {
  override readonly name = 'TransientSendError';
  /** Delay that the provider requested, or null. */
  readonly retryAfterMs: number | null;
  /** Whether the provider itself is at fault, not the rate of requests. */
  readonly isOutage: boolean;
  constructor(message: string, options: { retryAfterMs?: number | null; isOutage?: boolean; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.retryAfterMs = options.retryAfterMs ?? null;
    this.isOutage = options.isOutage ?? true;
  }
}

/** Thrown when the provider will never accept this message: no retry. */
export class PermanentSendError extends Error {
  override readonly name = 'PermanentSendError';
}

/** A request to a provider. */
interface HttpPost {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Response of an available provider. */
interface ProviderResponse {
  readonly status: number;
  readonly text: string;
}

/** Settings of a provider client; every value has a default. */
export interface ProviderClientOptions {
  readonly timeoutMs?: number;
  /** Delay before the first of three retries without Retry-After; doubled with each. */
  readonly retryMs?: number;
  /** A longer `Retry-After` defers the message. */
  readonly maxWaitMs?: number;
  /** The circuit breaker opens after this many requests within a minute, half of which failed. */
  readonly requestsToOpen?: number;
  readonly resetTimeoutMs?: number;
}

const maxRetries = 3;
/** Default settings of a provider client. */
export const providerClientDefaults: Required<ProviderClientOptions> = {
  timeoutMs: 10_000,
  retryMs: 1_000,
  maxWaitMs: 20_000,
  requestsToOpen: 8,
  resetTimeoutMs: 30_000,
};

/** Calls a provider: time-out, three retries after 429 and 5xx with `Retry-After`, and a circuit breaker. */
export class ProviderClient {
  readonly #name: string;
  readonly #options: Required<ProviderClientOptions>;
  readonly #breaker: CircuitBreaker<[HttpPost], ProviderResponse>;
  readonly #stopped = new AbortController();

  constructor(name: string, options: ProviderClientOptions = {}) {
    this.#name = name;
    this.#options = { ...providerClientDefaults, ...options };
    this.#breaker = createCircuitBreaker((request) => this.#post(request), {
      volumeThreshold: this.#options.requestsToOpen,
      resetTimeoutMs: this.#options.resetTimeoutMs,
      isFailure: (error) => error instanceof TransientSendError && error.isOutage,
    });
  }

  /** Returns the provider's response, including rejections; throws TransientSendError otherwise. */
  async post(request: HttpPost): Promise<ProviderResponse> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#fire(request);
      } catch (error) {
        if (!(error instanceof TransientSendError) || attempt === maxRetries || this.#breaker.opened) throw error;
        const waitMs = error.retryAfterMs ?? this.#options.retryMs * 2 ** attempt;
        if (waitMs > this.#options.maxWaitMs) throw error;
        await delay(waitMs, undefined, { signal: this.#stopped.signal }).catch(() => {
          throw error;
        });
      }
    }
  }

  stop(): void {
    this.#stopped.abort();
    this.#breaker.shutdown();
  }

  async #fire(request: HttpPost): Promise<ProviderResponse> {
    if (this.#breaker.opened)
      throw new TransientSendError(`${this.#name} is paused after failures`, {
        retryAfterMs: this.#options.resetTimeoutMs,
      });
    try {
      return await this.#breaker.fire(request);
    } catch (error) {
      if (error instanceof TransientSendError) throw error;
      // Half open: the test request is pending.
      throw new TransientSendError(`${this.#name} is being tested`, { cause: error });
    }
  }

  async #post({ url, headers, body }: HttpPost): Promise<ProviderResponse> {
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method: 'POST',
        headers,
        body,
        // Credentials are for this address only.
        redirect: 'error',
        signal: AbortSignal.timeout(this.#options.timeoutMs),
      });
      text = await response.text();
    } catch (cause) {
      throw new TransientSendError(`${this.#name} is unavailable`, { cause });
    }
    const { status } = response;
    if (status !== 429 && status < 500) return { status, text };
    throw new TransientSendError(`${this.#name} returned ${status}`, {
      isOutage: status !== 429,
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), Date.now()),
    });
  }
}

/** Parses `Retry-After`: seconds, or a date. */
export function retryAfterMs(header: string | null, nowMs: number): number | null {
  if (header === null || header.trim() === '') return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs);
}

/** Parses the JSON of a response, undefined for anything else. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The status decides about its meaning.
    return undefined;
  }
}
