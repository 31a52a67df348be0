import type { DoctorOptions } from './doctor-options.ts';

type Fields = Readonly<Record<string, unknown>>;

/** An error response of the API. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;

  constructor(method: string, path: string, status: number, text: string) {
    super(`${method} ${path} responded with ${status} ${text.slice(0, 200)}`);
    this.status = status;
  }
}

/** Requests of an owner who has logged in. */
export class PlatformSession {
  readonly #baseUrl: string;
  readonly #headers: Readonly<Record<string, string>>;

  private constructor(baseUrl: string, headers: Readonly<Record<string, string>>) {
    this.#baseUrl = baseUrl;
    this.#headers = headers;
  }

  /** Logs in. Throws an ApiError if the credentials are refused. */
  static async open(
    { baseUrl, email, password, apiKey }: DoctorOptions,
    signal: AbortSignal,
  ): Promise<PlatformSession> {
    const json = { 'content-type': 'application/json', 'x-api-key': apiKey ?? '' };
    const anonymous = new PlatformSession(baseUrl, json);
    const tokens = await anonymous.request('POST', '/auth/login', signal, { identifier: email, password });
    return new PlatformSession(baseUrl, { ...json, authorization: `Bearer ${String(tokens['access_token'])}` });
  }

  /** Sends a request to the Platform API and returns `data`. */
  async request(method: string, path: string, signal: AbortSignal, body?: object): Promise<Fields> {
    const all = await this.#send(method, `/api${path}`, signal, body);
    return (all['data'] ?? all) as Fields;
  }

  /** Sends a GET request to the Device API. */
  getFromDeviceApi(path: string, signal: AbortSignal): Promise<Fields> {
    return this.#send('GET', `/api/v1${path}`, signal);
  }

  async #send(method: string, path: string, signal: AbortSignal, body?: object): Promise<Fields> {
    const response = await fetch(`${this.#baseUrl}${path}`, {
      method,
      headers: this.#headers,
      signal,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new ApiError(method, path.split('?')[0] ?? path, response.status, text);
    return JSON.parse(text) as Fields;
  }

  /** Opens a stream of the Device API. */
  openStream(path: string, signal: AbortSignal): Promise<Response> {
    return fetch(`${this.#baseUrl}/api/v1${path}`, { headers: this.#headers, signal });
  }
}
