import { BusError, call, findDevice } from '@fleet/bus';
import { AppError, isAddressAllowed, type RequestContext, type Route } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import type { KeyCache, KeyOwner } from './key-cache.ts';
import type { RateLimits } from './rate-limits.ts';

const findLimitMs = 3_000;

/** Who may do what: credentials before the parameters are read, the device's account after. */
export class Guard {
  readonly #deps: Pick<Deps, 'bus' | 'config'>;
  readonly #keys: KeyCache;
  readonly #limits: RateLimits;
  readonly #owners = new WeakMap<RequestContext, KeyOwner>();

  constructor(deps: Pick<Deps, 'bus' | 'config'>, keys: KeyCache, limits: RateLimits) {
    this.#deps = deps;
    this.#keys = keys;
    this.#limits = limits;
  }

  /** Checks the API key of a request, and counts it where its bucket counts by key or address. */
  async enter(route: Route, context: RequestContext): Promise<void> {
    const address = context.request.ip ?? '';
    if (route.bucket === 'health') return this.#limits.consume('health', address, context);
    if (this.#deps.config.DEVICE_API_AUTH === 'key' && route.secured !== false)
      await this.#authenticate(route, context);
    if (route.bucket !== 'reads' && route.bucket !== 'stream') return;
    const owner = this.#owners.get(context);
    await this.#limits.consume('reads', owner === undefined ? `ip:${address}` : `key:${owner.keyId}`, context);
  }

  /** Refuses a device of another account as if it were not there; `absent` makes that answer. A device of no account is everybody's who has a key. */
  async checkDevice(imei: string, route: Route, context: RequestContext, absent: () => AppError): Promise<void> {
    if (await this.isForeign(imei, route, context)) throw absent();
  }

  /** True for a device of another account than the caller's. */
  async isForeign(imei: string, route: Pick<Route, 'errors'>, context: RequestContext): Promise<boolean> {
    const owner = this.#owners.get(context);
    if (owner === undefined) return false;
    const { accountId } = await orUnavailable(
      route,
      call(this.#deps.bus, findDevice, { imei }, { timeoutMs: findLimitMs, correlationId: context.requestId }),
    );
    return accountId !== null && accountId !== owner.accountId;
  }

  /**
   * Those of a device's uploads that are the caller's: requested while the device was of the caller's account, whosever it is now. One that was requested of a
   * device of no account goes with its device.
   */
  async ownUploads<T extends Pick<UploadRecord, 'accountId'>>(
    imei: string,
    uploads: readonly T[],
    route: Pick<Route, 'errors'>,
    context: RequestContext,
  ): Promise<readonly T[]> {
    const owner = this.#owners.get(context);
    if (owner === undefined) return uploads;
    const isForeign = await this.isForeign(imei, route, context);
    return uploads.filter(({ accountId = null }) => (accountId === null ? !isForeign : accountId === owner.accountId));
  }

  async #authenticate(route: Route, context: RequestContext): Promise<void> {
    const key = context.request.get('x-api-key');
    if (key === undefined || key === '') throw new AppError('api_key_missing', 'The header x-api-key is required.');
    const invalid = new AppError('api_key_invalid', 'The API key is not valid.');
    if (key.length > 256) throw invalid;
    const owner = await orUnavailable(route, this.#keys.ownerOf(key, context.requestId));
    if (owner === null) {
      // Guessing costs the guesser's address.
      await this.#limits.consume('reads', `ip:${context.request.ip ?? ''}`, context);
      throw invalid;
    }
    if (!isAddressAllowed(owner.ipAllowlist, context.request.ip ?? ''))
      throw new AppError('permission_denied', 'The API key is not valid from this address.');
    const { scopes } = route;
    if (scopes !== undefined && !scopes.some((scope) => owner.scopes.includes(scope)))
      throw new AppError('permission_denied', `The API key needs the scope ${scopes.join(' or ')}.`);
    this.#owners.set(context, owner);
  }
}

/** Nobody could say: 503, or 500 where the interface lists no 503. */
async function orUnavailable<T>(route: Pick<Route, 'errors'>, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError(
      503 in route.errors ? 'unavailable' : 'internal',
      'Credentials can not be checked at the moment.',
      {
        cause,
      },
    );
  }
}
