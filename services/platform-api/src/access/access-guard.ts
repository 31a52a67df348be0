import { AppError, type RequestContext, roleNotPermittedError, scopeRequiredError } from '@fleet/service-kit';
import { actInAccount } from './acted-account.ts';
import { Authenticator, type AuthenticatorDeps, readCredentials } from './authenticator.ts';
import { type Caller, findCaller, setCaller } from './caller.ts';
import type { PlatformRoute } from './platform-route.ts';
import { type Bucket, chooseBucket, countedBy, countKey, type RateLimits } from './rate-limits.ts';
import { isPermitted } from './roles.ts';

/** Dependencies of the guard. */
export interface AccessGuardDeps extends AuthenticatorDeps {
  readonly limits: RateLimits;
}

/** Authenticates requests, checks the role and the key, and counts the request against its rate limit. */
export class AccessGuard {
  readonly #deps: AccessGuardDeps;
  readonly #authenticator: Authenticator;

  constructor(deps: AccessGuardDeps) {
    this.#deps = deps;
    this.#authenticator = new Authenticator(deps);
  }

  /** Runs before the parameters are validated. Throws 401, 403 or 429. */
  async authorize(route: PlatformRoute, context: RequestContext): Promise<void> {
    const credentials = requiredCredentials(route, context);
    if (credentials !== 'none')
      setCaller(
        context,
        await this.#countFailure(this.#authenticator.identify(credentials, readCredentials(context.request)), context),
      );
    await this.#count(route.bucket as Bucket | undefined, context);
    const caller = findCaller(context);
    if (caller === undefined) return;
    assertPermitted(route, caller);
    const accountId = context.request.get('x-account-id');
    if (credentials === 'both' && accountId !== undefined)
      setCaller(context, await this.#actAsAccount(accountId, caller, route));
  }

  /** Applies `X-Account-Id`. Dealers only read in the accounts below theirs. */
  async #actAsAccount(accountId: string, caller: Caller, route: PlatformRoute): Promise<Caller> {
    const acting = await actInAccount(this.#deps.records, caller, accountId);
    if (caller.role === 'dealer' && (route.method !== 'get' || route.access.permission !== 'read'))
      throw new AppError('permission_denied', 'Dealers have read-only access to the accounts of their customers.');
    return acting;
  }

  /**
   * Authenticates requests to paths that do not exist, so that only callers with a valid credential learn which paths
   * exist.
   */
  async authenticateAny(context: RequestContext): Promise<void> {
    const { request } = context;
    const credentials = request.get('x-api-key') === undefined && request.get('authorization') ? 'bearer' : 'key';
    await this.#countFailure(this.#authenticator.identify(credentials, readCredentials(context.request)), context);
    await this.#count('platform', context);
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
    const caller = findCaller(context);
    const chosen = chooseBucket(bucket, caller);
    await this.#deps.limits.consume(chosen, countKey(by, caller, context.request.ip), context);
  }
}

function requiredCredentials(
  { access }: PlatformRoute,
  { request }: RequestContext,
): 'both' | 'bearer' | 'key' | 'none' {
  if (access.credentials === 'session') return request.get('authorization') === undefined ? 'none' : 'bearer';
  if (access.credentials !== 'either') return access.credentials;
  // A request with the header Authorization alone may carry a provider's own credential.
  return request.get('x-api-key') === undefined ? 'none' : 'both';
}

function assertPermitted({ access }: PlatformRoute, caller: Caller): void {
  const isVideoRefused = access.permission === 'video' && caller.role === 'viewer' && !caller.canViewVideo;
  if (!isPermitted(caller.role, access.permission) || isVideoRefused) throw roleNotPermittedError(caller.role);
  // A session's token without a key is not limited by scopes.
  const hasKey = caller.keyId !== null || caller.mintedByKeyId !== null;
  if (hasKey && access.scope !== null && !caller.scopes.includes(access.scope))
    throw scopeRequiredError([access.scope]);
}
