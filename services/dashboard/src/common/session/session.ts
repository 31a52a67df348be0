import {
  ApiFailure,
  type Credentials,
  type components,
  createPlatformClient,
  type PlatformClient,
  toHeaders,
} from '@fleet/api-client';

export type Me = components['schemas']['Me'];
type TokenSet = components['schemas']['TokenSet'];

export type SessionState =
  | { readonly kind: 'loading' }
  | { readonly kind: 'signedOut'; readonly reason: 'none' | 'ended' }
  | { readonly kind: 'signedIn'; readonly me: Me; readonly customer: Customer | null };

/** The account of a customer in which operator staff or a dealer looks around. */
export interface Customer {
  readonly id: number;
  readonly name: string;
}

/** What a visitor enters to open an account. */
interface Registration {
  readonly name: string;
  readonly email: string;
  readonly password: string;
  readonly account_name: string;
}

/** A token that expires sooner is refreshed before the next request. */
const refreshBeforeExpiryMs = 60_000;
/** Pause before a session is resumed again after a failure of the server. */
const retrySeconds = 3;
/** Name of the lock and of the channel that the tabs of one browser share. */
const sharedName = 'fleet-session';
/** Says that this browser has a session, so that visitors without one cause no failing request. Not a secret. */
const markName = 'fleet-has-session';
/** Id and name of the customer that this tab shows. Not a secret. */
const customerName = 'fleet-customer';
/** Fragment of an address that follows a log-in outside this page, such as the sign-in link of a local start. */
const signedInFragment = '#signed-in';

/** Paths of the user and of the user's own account, also while the page shows the account of a customer. */
const ownPaths = ['/api/auth/', '/api/accounts', '/api/user-preferences'];

interface AccessToken {
  readonly token: string;
  readonly expiresAtMs: number;
}

type TabMessage = { readonly kind: 'token'; readonly access: AccessToken } | { readonly kind: 'signedOut' };

/**
 * Manages the session of this browser. Keeps the access token in memory only; the refresh token is in a cookie that
 * scripts cannot read. Of all tabs, one refreshes and shares the token with the others.
 */
export class Session {
  readonly api: PlatformClient;
  #state: SessionState = { kind: 'loading' };
  #access: AccessToken | null = null;
  #apiKey: string | null = null;
  #refreshing: Promise<void> | null = null;
  readonly #listeners = new Set<() => void>();
  readonly #tabs = new BroadcastChannel(sharedName);
  /** Client of the log-in paths, which must not wait for a token. */
  readonly #auth: PlatformClient;

  constructor(baseUrl: string) {
    this.api = createPlatformClient({
      baseUrl,
      getCredentials: () => this.getCredentials(),
      // The ETag of a record is its version. Values that change without a new version, such as the state of an area in
      // a terminal, would come from the cache of the browser.
      fetch: (request) => fetch(request, { cache: 'no-store' }),
    });
    this.api.use({
      onRequest: ({ request, schemaPath }) => {
        if (ownPaths.some((path) => schemaPath.startsWith(path))) request.headers.delete('x-account-id');
        return request;
      },
      onResponse: ({ response }) => {
        if (response.status === 401) void this.#checkSession();
      },
    });
    this.#auth = createPlatformClient({ baseUrl, getCredentials: () => ({ apiKey: null, accessToken: null }) });
    this.#tabs.onmessage = ({ data }: MessageEvent<TabMessage>) => this.#onTabMessage(data);
  }

  get state(): SessionState {
    return this.#state;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Continues the session of the cookie, if there is one. */
  async resume(): Promise<void> {
    const wasSignedIn = location.hash === signedInFragment;
    if (wasSignedIn) history.replaceState(history.state, '', location.pathname + location.search);
    if (!wasSignedIn && localStorage.getItem(markName) === null) return this.#end('none');
    for (;;) {
      try {
        await this.#refresh();
        return await this.#loadMe();
      } catch (error) {
        if (!(error instanceof ApiFailure)) throw error;
        if (error.status === 401 || error.status === 403) return this.#end('none');
        // The server is busy or unreachable: the session may still exist.
        await new Promise((resolve) => setTimeout(resolve, (error.retryAfterSeconds ?? retrySeconds) * 1000));
      }
    }
  }

  /** Logs in with a password. Throws an ApiFailure with the code `two_factor_required` if a code is due. */
  async logIn(identifier: string, password: string, code?: string): Promise<void> {
    const body = { identifier, password, session: 'cookie' as const, ...(code === undefined ? {} : { code }) };
    const { data } = await this.#auth.POST('/api/auth/login', { body });
    await this.#open(data?.data);
  }

  async sendCode(phoneNumber: string): Promise<void> {
    await this.#auth.POST('/api/auth/otp/send', { body: { phone_number: phoneNumber } });
  }

  async logInWithCode(phoneNumber: string, code: string, totpCode?: string): Promise<void> {
    const second = totpCode === undefined ? {} : { totp_code: totpCode };
    const body = { phone_number: phoneNumber, code, session: 'cookie' as const, ...second };
    const { data } = await this.#auth.POST('/api/auth/otp/verify', { body });
    await this.#open(data?.data);
  }

  async forgotPassword(identifier: string): Promise<void> {
    await this.#auth.POST('/api/auth/password/forgot', { body: { identifier } });
  }

  /** Returns what a reset link or an invitation is for. */
  async checkPasswordToken(token: string): Promise<components['schemas']['TokenCheck']> {
    const { data } = await this.#auth.POST('/api/auth/password/check', { body: { token } });
    if (data === undefined) throw new Error('The server returned no result.');
    return data.data;
  }

  /** Sets a password and returns the identifier with which its user logs in. */
  async resetPassword(token: string, password: string): Promise<string> {
    const { data } = await this.#auth.POST('/api/auth/password/reset', { body: { token, password } });
    return data?.data.email ?? data?.data.phone_number ?? '';
  }

  /** Opens an account and logs its owner in. */
  async register(registration: Registration): Promise<void> {
    const body = { ...registration, session: 'cookie' as const };
    const { data } = await this.#auth.POST('/api/auth/register', { body });
    await this.#open(data?.data);
  }

  /** Reads the account of a customer from now on. */
  openCustomer(customer: Customer): void {
    this.#setCustomer(customer);
  }

  /** Returns to the own account. */
  leaveCustomer(): void {
    this.#setCustomer(null);
  }

  /** Reads the user again, after a change of the own record. */
  reload(): Promise<void> {
    return this.#loadMe();
  }

  /** Ends the session in all tabs of this browser. */
  async logOut(): Promise<void> {
    try {
      // The cookie suffices, also after the token has expired.
      await this.#auth.POST('/api/auth/logout');
    } finally {
      this.#tabs.postMessage({ kind: 'signedOut' } satisfies TabMessage);
      this.#end('none');
    }
  }

  /** Returns the credentials of the next request, with a token that is valid for at least some seconds. */
  async getCredentials(): Promise<Credentials> {
    if (this.#access === null || this.#access.expiresAtMs - Date.now() < refreshBeforeExpiryMs) await this.#refresh();
    const customer = this.#state.kind === 'signedIn' ? this.#state.customer : null;
    const credentials = { apiKey: this.#apiKey, accessToken: this.#access?.token ?? null };
    return customer === null ? credentials : { ...credentials, accountId: customer.id };
  }

  /** Returns the headers of a request that the client of the API does not send. */
  async getHeaders(): Promise<Record<string, string>> {
    return toHeaders(await this.getCredentials());
  }

  /** Ends the session after a response 401, unless a refresh shows that it is still open. */
  async #checkSession(): Promise<void> {
    try {
      await this.#refresh();
    } catch (error) {
      // A refusal has ended the session; after any other failure the next request decides.
      if (!(error instanceof ApiFailure)) throw error;
    }
  }

  async #open(tokens: TokenSet | undefined): Promise<void> {
    if (tokens === undefined) throw new Error('The log-in returned no tokens.');
    this.#keep(tokens);
    await this.#loadMe();
  }

  #refresh(): Promise<void> {
    this.#refreshing ??= this.#refreshInOneTab().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  async #refreshInOneTab(): Promise<void> {
    const before = this.#access;
    const run = async (): Promise<void> => {
      // Another tab may have refreshed while this one waited for the lock.
      if (this.#access !== before) return;
      const { data } = await this.#auth.POST('/api/auth/refresh', { body: {} });
      if (data !== undefined) this.#keep(data.data);
    };
    try {
      // Locks exist only in secure contexts: HTTPS and loopback.
      await (navigator.locks === undefined ? run() : navigator.locks.request(sharedName, run));
    } catch (error) {
      if (error instanceof ApiFailure && error.status === 401 && this.#state.kind === 'signedIn') this.#end('ended');
      throw error;
    }
  }

  #keep({ access_token: token, expires_in: seconds }: TokenSet): void {
    this.#access = { token, expiresAtMs: Date.now() + seconds * 1000 };
    this.#tabs.postMessage({ kind: 'token', access: this.#access } satisfies TabMessage);
  }

  async #loadMe(): Promise<void> {
    const { data } = await this.api.GET('/api/auth/me');
    if (data === undefined) throw new Error('The server returned no user.');
    this.#apiKey = data.data.dashboard_api_key;
    localStorage.setItem(markName, '1');
    this.#setState({ kind: 'signedIn', me: data.data, customer: this.#findCustomer() });
  }

  #findCustomer(): Customer | null {
    if (this.#state.kind === 'signedIn') return this.#state.customer;
    const stored = sessionStorage.getItem(customerName);
    return stored === null ? null : (JSON.parse(stored) as Customer);
  }

  // The choice survives a reload of this tab, and no log-out.
  #setCustomer(customer: Customer | null): void {
    if (this.#state.kind !== 'signedIn') return;
    if (customer === null) sessionStorage.removeItem(customerName);
    else sessionStorage.setItem(customerName, JSON.stringify(customer));
    this.#setState({ ...this.#state, customer });
  }

  #onTabMessage(message: TabMessage): void {
    if (message.kind === 'token') this.#access = message.access;
    else this.#end('none');
  }

  #end(reason: 'none' | 'ended'): void {
    this.#access = null;
    this.#apiKey = null;
    localStorage.removeItem(markName);
    sessionStorage.removeItem(customerName);
    if (this.#state.kind !== 'signedOut') this.#setState({ kind: 'signedOut', reason });
  }

  #setState(state: SessionState): void {
    this.#state = state;
    for (const listener of this.#listeners) listener();
  }
}
