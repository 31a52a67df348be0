import { createHash } from 'node:crypto';
import { AppError, addressNotAllowedError, isIpAllowed } from '@fleet/service-kit';
import type { Request } from 'express';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { firstOwner } from '../domains/users/use-cases.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { AccessTokens, TokenClaims } from './access-tokens.ts';
import type { Caller } from './caller.ts';
import { isFromAllowedOrigin } from './origins.ts';
import type { Principal, Principals } from './principals.ts';

const allScopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'] as const;
const maxTokenLength = 4096;

/** Credentials as they arrive with a request, over HTTP or the bus. */
export interface PresentedCredentials {
  /** Null without an API key. */
  readonly keySha256: string | null;
  readonly authorization: string | undefined;
  readonly ip: string | undefined;
  /** Returns a header that names the page of a browser. */
  readonly getHeader: (name: string) => string | undefined;
}

/** Which credentials a caller must present. */
type RequiredCredentials = 'both' | 'bearer' | 'key';

/** Dependencies of the authentication. */
export interface AuthenticatorDeps {
  readonly records: RecordStore;
  readonly tokens: AccessTokens;
  readonly principals: Principals;
  /** Origins whose pages may use dashboard keys. */
  readonly origins: ReadonlySet<string>;
}

/** Returns the credentials of an HTTP request. */
export function readCredentials(request: Pick<Request, 'get' | 'ip'>): PresentedCredentials {
  const key = request.get('x-api-key');
  return {
    keySha256: key === undefined || key === '' ? null : createHash('sha256').update(key).digest('hex'),
    authorization: request.get('authorization'),
    ip: request.ip,
    getHeader: (name) => request.get(name),
  };
}

/** Identifies callers by API key and bearer token. */
export class Authenticator {
  readonly #deps: AuthenticatorDeps;

  constructor(deps: AuthenticatorDeps) {
    this.#deps = deps;
  }

  /** Returns the caller; throws 401 or 403. */
  async identify(required: RequiredCredentials, credentials: PresentedCredentials): Promise<Caller> {
    const key = required === 'bearer' ? null : await this.#readKey(credentials);
    if (required === 'key' && key !== null) return this.#callerOfKey(key, credentials);
    const claims = await this.#readClaims(credentials);
    if (key !== null && key.accountId !== claims.accountId)
      throw new AppError('key_user_mismatch', 'The API key and the token belong to different accounts.');
    if (key !== null && key.sealedDashboardKey !== null) this.#checkDashboard(claims, credentials);
    const principal = await this.#deps.principals.findPrincipal(claims);
    if (principal === null) throw new AppError('token_invalid', 'The token is no longer valid.');
    // A token without a key is subject to the address list of the key that minted it.
    if (key === null && principal.mintedBy !== null) assertAddressAllowed(principal.mintedBy, credentials);
    return toCaller(principal, claims, key, credentials);
  }

  async #readKey(credentials: PresentedCredentials): Promise<ApiKey> {
    const { keySha256 } = credentials;
    if (keySha256 === null) throw new AppError('api_key_missing', 'The header x-api-key with an API key is required.');
    const key = await this.#deps.principals.findKey(keySha256);
    if (key === null) throw new AppError('api_key_invalid', 'The API key is not valid.');
    assertAddressAllowed(key, credentials);
    return key;
  }

  async #readClaims({ authorization: text }: PresentedCredentials): Promise<TokenClaims> {
    if (text === undefined || text === '')
      throw new AppError('token_missing', 'The header Authorization with a token is required.');
    const token = /^Bearer +([^\s]+)$/i.exec(text)?.[1];
    if (token === undefined || token.length > maxTokenLength)
      throw new AppError('token_invalid', 'The header Authorization must consist of "Bearer" and a token.');
    return this.#deps.tokens.verify(token);
  }

  /** Returns the caller of a key without a token: the user who created the key, or the account's first owner. */
  async #callerOfKey(key: ApiKey, credentials: PresentedCredentials): Promise<Caller> {
    const { records, principals } = this.#deps;
    if (key.sealedDashboardKey !== null)
      throw new AppError('permission_denied', 'The dashboard key requires the token of a session.');
    const userId = key.userId ?? (await firstOwner(records, key))?._id;
    const claims = { accountId: key.accountId, sessionId: null, mintedByKeyId: key._id, role: 'viewer' } as const;
    const principal = userId === undefined ? null : await principals.findPrincipal({ ...claims, userId });
    if (principal === null) throw new AppError('api_key_invalid', 'The user of the API key no longer exists.');
    return toCaller(principal, { ...claims, userId: principal.user._id }, key, credentials);
  }

  #checkDashboard(claims: TokenClaims, { getHeader }: PresentedCredentials): void {
    if (claims.sessionId === null)
      throw new AppError('permission_denied', 'The dashboard key requires the token of a session.');
    if (!isFromAllowedOrigin(getHeader, this.#deps.origins))
      throw new AppError('origin_not_allowed', 'The dashboard key is not valid from this origin.');
  }
}

/** Throws 403 for a request from an address that the API key does not allow. */
function assertAddressAllowed({ ipAllowlist }: ApiKey, { ip }: Pick<PresentedCredentials, 'ip'>): void {
  if (!isIpAllowed(ipAllowlist, ip ?? '')) throw addressNotAllowedError();
}

function toCaller(
  { user, isSuspended, mintedBy }: Principal,
  claims: TokenClaims,
  key: ApiKey | null,
  { ip }: PresentedCredentials,
): Caller {
  if (isSuspended) throw new AppError('account_suspended', 'The account is suspended.');
  return {
    accountId: user.accountId,
    userId: user._id,
    role: user.role,
    canViewVideo: user.canViewVideo,
    sessionId: claims.sessionId,
    mintedByKeyId: claims.mintedByKeyId,
    keyId: key?._id ?? null,
    ...(key !== null && key.sealedDashboardKey !== null ? { isDashboard: true } : {}),
    // A token without a key has the scopes of the key that minted it.
    scopes: (key ?? mintedBy)?.scopes ?? allScopes,
    ...(ip === undefined ? {} : { ip }),
  };
}
