import { AppError, isIpAllowed, type RequestContext } from '@fleet/service-kit';
import { findVisibleAccount } from '../domains/accounts/commands.ts';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { firstOwner } from '../domains/users/use-cases.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { AccessTokens, TokenClaims } from './access-tokens.ts';
import { type Caller, findCaller, setCaller } from './caller.ts';
import { isFromAllowedOrigin } from './origins.ts';
import type { PlatformRoute } from './platform-route.ts';
import type { Principal, Principals } from './principals.ts';
import { type Bucket, countedBy, countKey, type RateLimits } from './rate-limits.ts';
import { isPermitted } from './roles.ts';

const allScopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'] as const;
const maxKeyLength = 256;
const maxTokenLength = 4096;

/** Dependencies of the guard. */
export interface AccessGuardDeps {
  readonly records: RecordStore;
  readonly tokens: AccessTokens;
  readonly principals: Principals;
  readonly limits: RateLimits;
  /** Origins whose pages may use dashboard keys. */
  readonly origins: ReadonlySet<string>;
}

/** Authenticates requests, checks the role and the key, and counts the request against its rate limit. */
export class AccessGuard {
  readonly #deps: AccessGuardDeps;

  constructor(deps: AccessGuardDeps) {
    this.#deps = deps;
  }

  /** Runs before the parameters are validated. Throws 401, 403 or 429. */
  async authorize(route: PlatformRoute, context: RequestContext): Promise<void> {
    const credentials = requiredCredentials(route, context);
    if (credentials !== 'none')
      setCaller(context, await this.#countFailure(this.#identify(credentials, context), context));
    await this.#count(route.bucket as Bucket | undefined, context);
    const caller = findCaller(context);
    if (caller === undefined) return;
    assertPermitted(route, caller);
    const accountId = context.request.get('x-account-id');
    if (credentials === 'both' && accountId !== undefined)
      setCaller(context, await this.#actAsAccount(accountId, caller, route));
  }

  /**
   * Applies `X-Account-Id`. The operator's staff act in any account, dealers read in the accounts below theirs. For all
   * other callers no other account exists.
   */
  async #actAsAccount(accountId: string, caller: Caller, route: PlatformRoute): Promise<Caller> {
    const account = /^[1-9]\d{0,14}$/.test(accountId)
      ? await findVisibleAccount(this.#deps.records, caller, Number(accountId))
      : null;
    if (account === null) throw new AppError('not_found', 'There is no such account.');
    if (caller.role === 'dealer' && (route.method !== 'get' || route.access.permission !== 'read'))
      throw new AppError('permission_denied', 'Dealers have read-only access to the accounts of their customers.');
    return { ...caller, accountId: account._id };
  }

  /**
   * Authenticates requests to paths that do not exist, so that only callers with a valid credential learn which paths
   * exist.
   */
  async authenticateAny(context: RequestContext): Promise<void> {
    const { request } = context;
    const credentials = request.get('x-api-key') === undefined && request.get('authorization') ? 'bearer' : 'key';
    await this.#countFailure(this.#identify(credentials, context), context);
    await this.#count('platform', context);
  }

  async #identify(credentials: 'both' | 'bearer' | 'key', context: RequestContext): Promise<Caller> {
    const key = credentials === 'bearer' ? null : await this.#readKey(context);
    if (credentials === 'key' && key !== null) return this.#callerOfKey(key, context);
    const claims = await this.#readClaims(context);
    if (key !== null && key.accountId !== claims.accountId)
      throw new AppError('key_user_mismatch', 'The API key and the token belong to different accounts.');
    if (key !== null && key.sealedDashboardKey !== null) this.#checkDashboard(claims, context);
    const principal = await this.#deps.principals.findPrincipal(claims);
    if (principal === null) throw new AppError('token_invalid', 'The token is no longer valid.');
    // A token without a key is subject to the address list of the key that minted it.
    if (key === null && principal.mintedBy !== null) assertAddressAllowed(principal.mintedBy, context);
    return toCaller(principal, claims, key, context);
  }

  async #readKey(context: RequestContext): Promise<ApiKey> {
    const text = context.request.get('x-api-key');
    if (text === undefined || text === '')
      throw new AppError('api_key_missing', 'The header x-api-key with an API key is required.');
    const key = text.length > maxKeyLength ? null : await this.#deps.principals.findKey(text);
    if (key === null) throw new AppError('api_key_invalid', 'The API key is not valid.');
    assertAddressAllowed(key, context);
    return key;
  }

  async #readClaims(context: RequestContext): Promise<TokenClaims> {
    const text = context.request.get('authorization');
    if (text === undefined || text === '')
      throw new AppError('token_missing', 'The header Authorization with a token is required.');
    const token = /^Bearer +([^\s]+)$/i.exec(text)?.[1];
    if (token === undefined || token.length > maxTokenLength)
      throw new AppError('token_invalid', 'The header Authorization must consist of "Bearer" and a token.');
    return this.#deps.tokens.verify(token);
  }

  /** Returns the caller of a key without a token: the user who created the key, or the account's first owner. */
  async #callerOfKey(key: ApiKey, context: RequestContext): Promise<Caller> {
    const { records, principals } = this.#deps;
    if (key.sealedDashboardKey !== null)
      throw new AppError('permission_denied', 'The dashboard key requires the token of a session.');
    const userId = key.userId ?? (await firstOwner(records, key))?._id;
    const claims = { accountId: key.accountId, sessionId: null, mintedByKeyId: key._id, role: 'viewer' } as const;
    const principal = userId === undefined ? null : await principals.findPrincipal({ ...claims, userId });
    if (principal === null) throw new AppError('api_key_invalid', 'The user of the API key no longer exists.');
    return toCaller(principal, { ...claims, userId: principal.user._id }, key, context);
  }

  #checkDashboard(claims: TokenClaims, context: RequestContext): void {
    if (claims.sessionId === null)
      throw new AppError('permission_denied', 'The dashboard key requires the token of a session.');
    if (!isFromAllowedOrigin(context.request, this.#deps.origins))
      throw new AppError('origin_not_allowed', 'The dashboard key is not valid from this origin.');
  }

  /** Counts a failed authentication against the IP address, which limits guessing. */
  async #countFailure<T>(authentication: Promise<T>, context: RequestContext): Promise<T> {
    try {
      return await authentication;
    } catch (error) {
      if (error instanceof AppError && error.status === 401)
        await this.#deps.limits.consume('platform', `ip:${context.request.ip ?? ''}`, context);
      throw error;
    }
  }

  async #count(bucket: Bucket | undefined, context: RequestContext): Promise<void> {
    const by = bucket === undefined ? undefined : countedBy[bucket];
    if (bucket === undefined || by === undefined) return;
    await this.#deps.limits.consume(bucket, countKey(by, findCaller(context), context.request.ip), context);
  }
}

function requiredCredentials(
  { access }: PlatformRoute,
  { request }: RequestContext,
): 'both' | 'bearer' | 'key' | 'none' {
  if (access.credentials !== 'either') return access.credentials;
  // A request with the header Authorization alone may carry a provider's own credential.
  return request.get('x-api-key') === undefined ? 'none' : 'both';
}

function assertAddressAllowed({ ipAllowlist }: ApiKey, { request }: RequestContext): void {
  if (!isIpAllowed(ipAllowlist, request.ip ?? ''))
    throw new AppError('permission_denied', 'The API key is not valid from this address.');
}

function toCaller(
  { user, isSuspended, mintedBy }: Principal,
  claims: TokenClaims,
  key: ApiKey | null,
  { request }: RequestContext,
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
    // A token without a key has the scopes of the key that minted it.
    scopes: (key ?? mintedBy)?.scopes ?? allScopes,
    ...(request.ip === undefined ? {} : { ip: request.ip }),
  };
}

function assertPermitted({ access }: PlatformRoute, caller: Caller): void {
  const isVideoRefused = access.permission === 'video' && caller.role === 'viewer' && !caller.canViewVideo;
  if (!isPermitted(caller.role, access.permission) || isVideoRefused)
    throw new AppError('permission_denied', `The role ${caller.role} does not have the permission for this request.`);
  // A session's token without a key is not limited by scopes.
  const hasKey = caller.keyId !== null || caller.mintedByKeyId !== null;
  if (hasKey && access.scope !== null && !caller.scopes.includes(access.scope))
    throw new AppError('permission_denied', `The API key requires the scope ${access.scope}.`);
}
