import { createCircuitBreaker } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { SharedRateLimiter } from './shared-rate-limiter.ts';

const volumeThreshold = 10;
const resetTimeoutMs = 30_000;

/** Thrown if a provider does not respond, or responds in an invalid format. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}

/** Creates the error for a response that differs from the provider's manual. */
export const unreadable = (what: string): ProviderError =>
  new ProviderError(`the provider's response has no valid ${what}`);

/** Thrown if a provider rejects a request, for example for a position without roads. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
  readonly status: number;
  /** The parsed body. */
  readonly body: unknown;
  constructor(status: number, body: unknown) {
    super(`the provider responded with ${status}`);
    this.status = status;
    this.body = body;
  }
}

/** Address and limits of a provider. */
interface HttpProviderOptions {
  readonly url: string;
  readonly timeoutMs: number;
  readonly userAgent: string;
  /** Absent: no limit. */
  readonly limiter?: SharedRateLimiter;
}

interface ProviderRequest {
  readonly url: URL;
  readonly body: unknown;
}

/** Sends requests to a provider over HTTP, with a timeout, a rate limit and a circuit breaker. */
export class HttpProvider {
  readonly #options: HttpProviderOptions;
  readonly #breaker: CircuitBreaker<[ProviderRequest]>;

  constructor(options: HttpProviderOptions) {
    this.#options = options;
    this.#breaker = createCircuitBreaker((request) => this.#send(request), {
      volumeThreshold,
      resetTimeoutMs,
      isFailure: (error) => !(error instanceof ProviderRefusal),
    });
  }

  get isCircuitOpen(): boolean {
    return this.#breaker.opened;
  }

  async get(path: string, parameters: Readonly<Record<string, string | number | undefined>> = {}): Promise<unknown> {
    const url = this.#urlOf(path);
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return this.#request({ url, body: undefined });
  }

  async post(path: string, body: unknown): Promise<unknown> {
    return this.#request({ url: this.#urlOf(path), body });
  }

  stop(): void {
    this.#breaker.shutdown();
  }

  #urlOf(path: string): URL {
    return new URL(`${this.#options.url.replace(/\/+$/, '')}${path}`);
  }

  async #request(request: ProviderRequest): Promise<unknown> {
    const { limiter, timeoutMs } = this.#options;
    // Outside the breaker, because a reached limit is not a failure of the provider.
    if (limiter !== undefined && !this.isCircuitOpen && !(await limiter.acquire(timeoutMs)))
      throw new ProviderError('the request limit of the provider is reached');
    return this.#breaker.fire(request);
  }

  async #send({ url, body }: ProviderRequest): Promise<unknown> {
    const { userAgent, timeoutMs } = this.#options;
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method: body === undefined ? 'GET' : 'POST',
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: AbortSignal.timeout(timeoutMs),
      });
      text = await response.text();
    } catch (cause) {
      throw new ProviderError('could not reach the provider', { cause });
    }
    const parsedBody = parsed(text);
    // A rejected key and a rate limit are failures, like errors of the server.
    const isRefusal =
      response.status >= 400 && response.status < 500 && ![401, 403, 408, 429].includes(response.status);
    if (isRefusal && parsedBody !== undefined) throw new ProviderRefusal(response.status, parsedBody);
    if (!response.ok) throw new ProviderError(`the provider responded with ${response.status}`);
    if (parsedBody === undefined) throw new ProviderError("the provider's response is not JSON");
    return parsedBody;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The caller handles invalid JSON depending on the status.
    return undefined;
  }
}
