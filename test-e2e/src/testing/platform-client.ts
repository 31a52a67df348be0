import { setTimeout as delay } from 'node:timers/promises';
import type { World } from './world.ts';

/** A record as the Platform API answers it. */
export type Shown = Readonly<Record<string, unknown>>;

/** The demo account's owner, as a client of the Platform API. */
export class PlatformClient {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  private constructor(base: string, headers: Record<string, string>) {
    this.#base = base;
    this.#headers = headers;
  }

  static async logIn(world: World): Promise<PlatformClient> {
    const { base_url: url, demo } = world.product.runtime;
    const open = new PlatformClient(`${url}/api`, { 'content-type': 'application/json' });
    const { access_token: token } = await open.data('/auth/login', { identifier: demo.email, password: demo.password });
    const authorization = `Bearer ${String(token)}`;
    return new PlatformClient(open.#base, { ...open.#headers, authorization, 'x-api-key': demo.api_key });
  }

  /** The whole answer; POST where there is a body. Waits where it is too fast for the limits; throws on any other status than 200, 201 and 202. */
  async ask(path: string, body?: object): Promise<Shown> {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) };
    const response = await fetch(`${this.#base}${path}`, { headers: this.#headers, ...init });
    const text = await response.text();
    if (response.status === 429) {
      await delay(Number(response.headers.get('retry-after')) * 1_000);
      return this.ask(path, body);
    }
    if (![200, 201, 202].includes(response.status)) throw new Error(`${path}: ${response.status} ${text}`);
    return JSON.parse(text) as Shown;
  }

  async data(path: string, body?: object): Promise<Shown> {
    return (await this.ask(path, body))['data'] as Shown;
  }

  /** All pages of a list. */
  async all(path: string): Promise<Shown[]> {
    const found: Shown[] = [];
    for (;;) {
      const page = (await this.ask(`${path}${path.includes('?') ? '&' : '?'}limit=100&offset=${found.length}`))['data'];
      found.push(...(page as Shown[]));
      if ((page as Shown[]).length < 100) return found;
    }
  }
}
