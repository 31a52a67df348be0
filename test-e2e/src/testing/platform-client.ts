import { setTimeout as delay } from 'node:timers/promises';
import type { ProductHarness } from './harness.ts';

/** A record as returned by the Platform API. */
export type PlatformRecord = Readonly<Record<string, unknown>>;

/** A client of the Platform API with the demo account's owner. */
export class PlatformClient {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  private constructor(base: string, headers: Record<string, string>) {
    this.#base = base;
    this.#headers = headers;
  }

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

  /**
   * Returns the complete response; sends POST if there is a body. Waits when it hits a rate limit; throws for any
   * status but 200, 201 and 202.
   */
  async request(path: string, body?: object): Promise<PlatformRecord> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${this.#base}${path}`, { headers: this.#headers, ...init });
    const text = await response.text();
    if (response.status === 429) {
      await delay(Number(response.headers.get('retry-after')) * 1_000);
      return this.request(path, body);
    }
    if (![200, 201, 202].includes(response.status)) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text) as PlatformRecord;
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
