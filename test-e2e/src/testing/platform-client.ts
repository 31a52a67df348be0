import { setTimeout as delay } from 'node:timers/promises';
import type { ProductHarness } from './harness.ts';

/** A record as returned by the Platform API. */
export type PlatformRecord = Readonly<Record<string, unknown>>;

/** An account of one test file, with the password of its owner. */
export interface RegisteredAccount {
  readonly email: string;
  readonly password: string;
  readonly client: PlatformClient;
}

let registrations = 0;

/** A client of the Platform API with the owner of an account. */
export class PlatformClient {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  private constructor(base: string, headers: Record<string, string>) {
    this.#base = base;
    this.#headers = headers;
  }

  /** Headers with its credentials. */
  get headers(): Readonly<Record<string, string>> {
    return this.#headers;
  }

  /** Logs the owner of the demo account in. */
  static async logIn(harness: ProductHarness): Promise<PlatformClient> {
    const { base_url: url, demo } = harness.product.runtime;
    const anonymousClient = new PlatformClient(`${url}/api`, { 'content-type': 'application/json' });
    const { access_token: token } = await anonymousClient.requestData('/auth/login', {
      identifier: demo.email,
      password: demo.password,
    });
    const authorization = `Bearer ${String(token)}`;
    return new PlatformClient(anonymousClient.#base, {
      ...anonymousClient.#headers,
      authorization,
      'x-api-key': demo.api_key,
    });
  }

  /** Registers an account with an owner, so that a test sees only its own records. */
  static async register(harness: ProductHarness, name: string): Promise<RegisteredAccount> {
    const { base_url: url } = harness.product.runtime;
    registrations += 1;
    const email = `${name}-${process.pid}-${registrations}@fleet.example`;
    const password = 'correct horse battery';
    const headers = { 'content-type': 'application/json' };
    const anonymousClient = new PlatformClient(`${url}/api`, headers);
    const owner = { name: 'Owner', email, password, account_name: `${name} ${registrations}` };
    const { access_token: token } = await anonymousClient.requestData('/auth/register', owner);
    const authorized = { ...headers, authorization: `Bearer ${String(token)}` };
    const { key } = await new PlatformClient(`${url}/api`, authorized).requestData('/api-keys', { name: 'e2e' });
    return {
      email,
      password,
      client: new PlatformClient(`${url}/api`, { ...authorized, 'x-api-key': String(key) }),
    };
  }

  /**
   * Returns the complete response; sends POST if there is a body. Waits when it hits a rate limit; throws for any
   * status but 200, 201 and 202.
   */
  async request(path: string, body?: object): Promise<PlatformRecord> {
    return (await this.send(path, body)).body;
  }

  /** Like `request`, with the status and the headers. */
  async send(
    path: string,
    body?: object,
  ): Promise<{ readonly status: number; readonly headers: Headers; readonly body: PlatformRecord }> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const { status, headers, text } = await this.#fetch(path, init);
    if (![200, 201, 202].includes(status)) throw new Error(`${path}: ${status} ${text}`);
    return { status, headers, body: JSON.parse(text) as PlatformRecord };
  }

  /** Sends a request again whenever it hits a rate limit, after the pause that the server states. */
  async #fetch(path: string, init: RequestInit): Promise<{ status: number; headers: Headers; text: string }> {
    const response = await fetch(`${this.#base}${path}`, { headers: this.#headers, ...init });
    if (response.status === 429) {
      await response.body?.cancel();
      await delay(Number(response.headers.get('retry-after')) * 1_000);
      return this.#fetch(path, init);
    }
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Sends DELETE; throws for any status but 200. */
  async remove(path: string): Promise<void> {
    const { status, text } = await this.#fetch(path, { method: 'DELETE' });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  }

  /** Sends PUT with a body; throws for any status but 200. */
  async update(path: string, body: object): Promise<void> {
    const { status, text } = await this.#fetch(path, { method: 'PUT', body: JSON.stringify(body) });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
  }

  async requestData(path: string, body?: object): Promise<PlatformRecord> {
    return (await this.request(path, body))['data'] as PlatformRecord;
  }

  /** Returns all pages of a list. */
  async listAll(path: string): Promise<PlatformRecord[]> {
    const found: PlatformRecord[] = [];
    for (;;) {
      const page = (await this.request(`${path}${path.includes('?') ? '&' : '?'}limit=100&offset=${found.length}`))[
        'data'
      ];
      found.push(...(page as PlatformRecord[]));
      if ((page as PlatformRecord[]).length < 100) return found;
    }
  }
}

/** Returns the status and the code of a request that is expected to fail. */
export const findError = (request: Promise<unknown>): Promise<string> =>
  request.then(
    () => 'no error',
    (error: Error) => /: (\d{3}) .*"code":"(\w+)"/.exec(error.message)?.slice(1).join(' ') ?? error.message,
  );
