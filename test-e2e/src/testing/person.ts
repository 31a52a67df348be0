import { randomBytes } from 'node:crypto';
import { type ApiResponse, getJson, type ProductHarness } from './harness.ts';
import type { PlatformRecord } from './platform-client.ts';

const password = 'correct horse battery';

/** Returns an address that no other user has. */
const uniqueEmail = (name: string): string => `${name}-${randomBytes(6).toString('hex')}@fleet.example`;

/** A user who has logged in as the dashboard does: with a session, and the key that is valid only with it. */
export class Person {
  readonly id: number;
  /** Credentials of requests to the Platform API and to the video service. */
  readonly headers: Readonly<Record<string, string>>;
  readonly #harness: ProductHarness;

  private constructor(harness: ProductHarness, id: number, headers: Readonly<Record<string, string>>) {
    this.#harness = harness;
    this.id = id;
    this.headers = headers;
  }

  /** Logs in the owner of the demo account. */
  static logInOwner(harness: ProductHarness): Promise<Person> {
    const { email, password: secret } = harness.product.runtime.demo;
    return Person.#logIn(harness, email, secret);
  }

  /** Registers the owner of another account. */
  static async register(harness: ProductHarness, name = 'other'): Promise<Person> {
    const email = uniqueEmail(name);
    await Person.#authenticate(harness, 'register', { name, email, password, account_name: name });
    return Person.#logIn(harness, email, password);
  }

  /** Creates a user in the account of this one, with a role and other fields, and logs the user in. */
  async createUser(fields: PlatformRecord): Promise<Person> {
    const email = uniqueEmail(String(fields['role']));
    await this.request('POST', '/users', { name: String(fields['role']), email, password, ...fields });
    return Person.#logIn(this.#harness, email, password);
  }

  static async #logIn(harness: ProductHarness, email: string, secret: string): Promise<Person> {
    const { base_url: url } = harness.product.runtime;
    const tokens = await Person.#authenticate(harness, 'login', { identifier: email, password: secret });
    const authorization = `Bearer ${String(tokens['access_token'])}`;
    const me = readData(await getJson(`${url}/api/auth/me`, { headers: { authorization } }));
    const session = { authorization, 'x-api-key': String(me['dashboard_api_key']), origin: new URL(url).origin };
    return new Person(harness, Number(me['id']), { 'content-type': 'application/json', ...session });
  }

  static async #authenticate(harness: ProductHarness, how: 'login' | 'register', body: object) {
    const headers = { 'content-type': 'application/json' };
    const url = `${harness.product.runtime.base_url}/api/auth/${how}`;
    return readData(await getJson(url, { method: 'POST', headers, body: JSON.stringify(body) }));
  }

  /** Sends a request to the Platform API and returns `data`; throws the response of a failure. */
  async request(method: string, path: string, body?: object): Promise<PlatformRecord> {
    return readData(await this.send(method, path, body));
  }

  /** Sends a request to the Platform API. */
  send(method: string, path: string, body?: object): Promise<ApiResponse> {
    return this.#send(`${this.#harness.product.runtime.base_url}/api${path}`, method, body);
  }

  /** Sends a request to the video service. */
  sendToVideoService(method: string, path: string, body?: object): Promise<ApiResponse> {
    return this.#send(this.#harness.product.runtime.video_url + path, method, body);
  }

  #send(url: string, method: string, body?: object): Promise<ApiResponse> {
    const { headers } = this;
    return getJson(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  }
}

function readData({ status, body }: ApiResponse): PlatformRecord {
  if (![200, 201, 202].includes(status)) throw new Error(`${status} ${JSON.stringify(body)}`);
  return (body as { data: PlatformRecord }).data;
}
