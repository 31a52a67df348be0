import createClient, { type Client, type Middleware } from 'openapi-fetch';
import { ApiFailure } from './api-failure.ts';
import type { paths } from './platform-api.ts';

/** Credentials of the Platform API. Paths of `/api/auth` require none. */
export interface Credentials {
  readonly apiKey: string | null;
  /** Access token of a session; null for requests without one. */
  readonly accessToken: string | null;
  /** Customer account in which operator staff and dealers act. */
  readonly accountId?: number;
}

interface ClientOptions {
  /** Origin of the API, such as `https://fleet.example`. */
  readonly baseUrl: string;
  /** Returns the credentials of the next request. Called for each request, so that it may refresh a token. */
  readonly getCredentials: () => Credentials | Promise<Credentials>;
  /** Default: the global `fetch`. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** Typed client of the Platform API: one method for each HTTP method, with the path as first argument. */
export type PlatformClient = Client<paths>;

/**
 * Creates a client of the Platform API. Every method resolves with the response of a successful request and throws an
 * ApiFailure otherwise.
 */
export function createPlatformClient({ baseUrl, getCredentials, fetch }: ClientOptions): PlatformClient {
  const client = createClient<paths>({ baseUrl, ...(fetch === undefined ? {} : { fetch }) });
  client.use(createCredentialMiddleware(getCredentials), failureMiddleware);
  return client;
}

/** Returns the headers of a request with these credentials. */
export const toHeaders = ({ apiKey, accessToken, accountId }: Credentials): Record<string, string> => ({
  ...(apiKey === null ? {} : { 'x-api-key': apiKey }),
  ...(accessToken === null ? {} : { authorization: `Bearer ${accessToken}` }),
  ...(accountId === undefined ? {} : { 'x-account-id': String(accountId) }),
});

const createCredentialMiddleware = (getCredentials: ClientOptions['getCredentials']): Middleware => ({
  async onRequest({ request }) {
    for (const [name, value] of Object.entries(toHeaders(await getCredentials()))) request.headers.set(name, value);
    return request;
  },
});

const failureMiddleware: Middleware = {
  async onResponse({ response }) {
    if (!response.ok) throw await ApiFailure.fromResponse(response);
    return undefined;
  },
  onError({ error }) {
    return error instanceof ApiFailure ? error : ApiFailure.fromNetworkError(error);
  },
};
