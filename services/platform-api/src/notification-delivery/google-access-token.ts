import { createSign } from 'node:crypto';
import { minuteMs } from '@fleet/service-kit';
import type { ServiceAccount } from './delivery-settings.ts';
import { type ProviderClient, parseJson, TransientSendError } from './provider-client.ts';

const scope = 'https://www.googleapis.com/auth/firebase.messaging';
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const assertionSeconds = 3_600;
/** A token is replaced this long before its expiry. */
const renewBeforeMs = 5 * minuteMs;

const base64url = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns a signed statement for which Google grants an access token (RFC 7523). */
function createAssertion(account: ServiceAccount, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1_000);
  const { private_key_id: kid } = account;
  const header = base64url({ alg: 'RS256', typ: 'JWT', ...(kid === undefined ? {} : { kid }) });
  const claims = base64url({
    iss: account.client_email,
    scope,
    aud: account.token_uri,
    iat: issuedAt,
    exp: issuedAt + assertionSeconds,
  });
  const signature = createSign('RSA-SHA256').update(`${header}.${claims}`).sign(account.private_key, 'base64url');
  return `${header}.${claims}.${signature}`;
}

/** Provides the access token of a service account, cached until five minutes before its expiry. */
export class GoogleAccessToken {
  readonly #account: ServiceAccount;
  readonly #client: ProviderClient;
  readonly #now: () => number;
  #token: { readonly value: string; readonly untilMs: number } | undefined;
  #pendingRequest: Promise<string> | undefined;

  constructor(account: ServiceAccount, client: ProviderClient, now: () => number = Date.now) {
    this.#account = account;
    this.#client = client;
    this.#now = now;
  }

  // Concurrent callers share one request.
  get(): Promise<string> {
    if (this.#token !== undefined && this.#now() < this.#token.untilMs) return Promise.resolve(this.#token.value);
    this.#pendingRequest ??= this.#requestToken().finally(() => {
      this.#pendingRequest = undefined;
    });
    return this.#pendingRequest;
  }

  /** Invalidates a rejected token: the next caller gets another. */
  invalidate(value: string): void {
    if (this.#token?.value === value) this.#token = undefined;
  }

  async #requestToken(): Promise<string> {
    const nowMs = this.#now();
    const { status, text } = await this.#client.post({
      url: this.#account.token_uri,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams({ grant_type: grantType, assertion: createAssertion(this.#account, nowMs) }).toString(),
    });
    const response = parseJson(text) as { access_token?: unknown; expires_in?: unknown } | undefined;
    const { access_token: value, expires_in: seconds } = response ?? {};
    // The operator must correct wrong credentials; until then messages wait.
    if (status !== 200 || typeof value !== 'string' || typeof seconds !== 'number')
      throw new TransientSendError(`the token endpoint returned ${status} without a token`);
    this.#token = { value, untilMs: nowMs + seconds * 1_000 - renewBeforeMs };
    return value;
  }
}
