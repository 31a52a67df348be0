import { createCircuitBreaker } from '@fleet/service-kit';
import type CircuitBreaker from 'opossum';
import type { RequestCap } from './request-cap.ts';

const volumeThreshold = 10;
const resetTimeoutMs = 30_000;

/** A provider did not answer, or not in a way that can be read. */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
}

/** The refusal of an answer that is not what the provider's manual says. */
export const unreadable = (what: string): ProviderError =>
  new ProviderError(`the answer of the provider has no ${what}`);

/** A provider answered that it will not do this: a fault of the question, such as a place without roads. */
export class ProviderRefusal extends Error {
  override readonly name = 'ProviderRefusal';
  readonly status: number;
  /** The parsed body. */
  readonly body: unknown;
  constructor(status: number, body: unknown) {
    super(`the provider answered ${status}`);
    this.status = status;
    this.body = body;
  }
}

/** Where a provider is, and how it may be asked. */
export interface HttpProviderOptions {
  readonly url: string;
  readonly timeoutMs: number;
  readonly userAgent: string;
  /** Absent: as often as needed. */
  readonly cap?: RequestCap;
}

interface Question {
  readonly url: URL;
  readonly body: unknown;
}

/** Asks a provider over HTTP: with a time limit, a cap on requests, and a breaker that leaves it alone while it fails. */
export class HttpProvider {
  readonly #options: HttpProviderOptions;
  readonly #breaker: CircuitBreaker<[Question]>;

  constructor(options: HttpProviderOptions) {
    this.#options = options;
    this.#breaker = createCircuitBreaker((question) => this.#send(question), {
      volumeThreshold,
      resetTimeoutMs,
      isFailure: (error) => !(error instanceof ProviderRefusal),
    });
  }

  get isLeftAlone(): boolean {
    return this.#breaker.opened;
  }

  async get(path: string, parameters: Readonly<Record<string, string | number | undefined>> = {}): Promise<unknown> {
    const url = this.#urlOf(path);
    for (const [name, value] of Object.entries(parameters))
      if (value !== undefined) url.searchParams.set(name, String(value));
    return this.#ask({ url, body: undefined });
  }

  async post(path: string, body: unknown): Promise<unknown> {
    return this.#ask({ url: this.#urlOf(path), body });
  }

  stop(): void {
    this.#breaker.shutdown();
  }

  #urlOf(path: string): URL {
    return new URL(`${this.#options.url.replace(/\/+$/, '')}${path}`);
  }

  async #ask(question: Question): Promise<unknown> {
    const { cap, timeoutMs } = this.#options;
    // Before the breaker: that there is no turn is not the provider's failure.
    if (cap !== undefined && !this.isLeftAlone && !(await cap.turn(timeoutMs)))
      throw new ProviderError('the provider may not be asked so often');
    return this.#breaker.fire(question);
  }

  async #send({ url, body }: Question): Promise<unknown> {
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
      throw new ProviderError('the provider could not be reached', { cause });
    }
    const answer = parsed(text);
    // A key that is refused and a limit that is reached are failures like a server's own.
    const isRefusal =
      response.status >= 400 && response.status < 500 && ![401, 403, 408, 429].includes(response.status);
    if (isRefusal && answer !== undefined) throw new ProviderRefusal(response.status, answer);
    if (!response.ok) throw new ProviderError(`the provider answered ${response.status}`);
    if (answer === undefined) throw new ProviderError('the answer of the provider is no JSON');
    return answer;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // What the caller makes of it depends on the status.
    return undefined;
  }
}
