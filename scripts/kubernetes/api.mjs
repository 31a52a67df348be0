// Requests to the HTTP interfaces of a product under test.

/** Sends requests as the first owner. */
export class Api {
  #baseUrl;
  /** @type {Record<string, string>} */
  #headers;

  constructor(baseUrl, apiKey) {
    this.#baseUrl = baseUrl;
    this.#headers = { 'x-api-key': apiKey, 'content-type': 'application/json' };
  }

  /** Logs the owner in: the Platform API requires a token beside the key. */
  async logIn({ email, password }) {
    const { status, body } = await this.send('POST', '/api/auth/login', { identifier: email, password });
    if (status !== 200) throw new Error(`The log-in failed: ${JSON.stringify(body)}`);
    this.#headers.authorization = `Bearer ${body.data?.access_token ?? body.access_token}`;
  }

  /** @returns {Promise<{ status: number, body: any }>} the status and the JSON of the response */
  async send(method, path, body) {
    const response = await fetch(`${this.#baseUrl}${path}`, {
      method,
      headers: this.#headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(100_000),
    });
    return { status: response.status, body: await response.json() };
  }

  /** Opens a stream, and returns its response. */
  openStream(path) {
    return fetch(`${this.#baseUrl}${path}`, { headers: this.#headers });
  }
}
