import { setTimeout as delay } from 'node:timers/promises';
import { BusError, findDevice, request } from '@fleet/bus';
import { AppError, isIpAllowed, type RequestContext, type Route } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { hashOf, type KeyCache, type KeyOwner } from './key-cache.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Use, UseOutbox } from './use-outbox.ts';

const findLimitMs = 3_000;
/** Retry interval of the verification of a viewer's key if platform-api is unreachable. */
const askAgainMs = 1_000;
/**
 * Interval at which keys of viewers are verified again: a change takes effect within five seconds. Many keys take
 * turns.
 */
const lookEveryMs = 2_000;
const keysAtOnce = 50;
const tickMs = 1_000;

/** The validated parts of a request. */
export interface Checked {
  readonly query: unknown;
  readonly params: unknown;
  readonly body: unknown;
}

/** Video that a client is watching. */
interface Watch {
  readonly keySha256: string;
  /** Number of doubts about its key: a newer verification replaces a pending one. */
  doubts: number;
  lookedMs: number;
}

type GuardParts = Pick<Deps, 'bus' | 'config'> & { readonly uses: Pick<UseOutbox, 'tell'> };

/** Authorizes requests: credentials before the parameters are parsed, the device's account afterwards. */
export class Guard {
  readonly #deps: GuardParts;
  readonly #keys: KeyCache;
  readonly #limits: RateLimits;
  readonly #owners = new WeakMap<RequestContext, KeyOwner>();
  /** The most recently verified ones are at the end. */
  readonly #watched = new Map<RequestContext, Watch>();
  readonly #tick: NodeJS.Timeout;

  constructor(deps: GuardParts, keys: KeyCache, limits: RateLimits) {
    this.#deps = deps;
    this.#keys = keys;
    this.#limits = limits;
    keys.onDoubt((keySha256) => {
      for (const [context, watch] of this.#watched)
        if (keySha256 === null || watch.keySha256 === keySha256) void this.#endUnlessValid(context, watch);
    });
    this.#tick = setInterval(() => this.#lookAgain(), tickMs);
  }

  stop(): void {
    clearInterval(this.#tick);
  }

  /** Verifies the API key of a request, and counts it if its bucket counts by key or address. */
  async enter(route: Route, context: RequestContext): Promise<void> {
    const address = context.request.ip ?? '';
    if (route.bucket === 'health') return this.#limits.consume('health', address, context);
    if (this.#deps.config.DEVICE_API_AUTH === 'key' && route.isSecured !== false)
      await this.#authenticate(route, context);
    if (route.bucket !== 'reads' && route.bucket !== 'stream') return;
    const owner = this.#owners.get(context);
    await this.#limits.consume('reads', owner === undefined ? `ip:${address}` : `key:${owner.keyId}`, context);
  }

  /** Returns the account of the request's key; undefined if no key is required. */
  accountOf(context: RequestContext): number | undefined {
    return this.#owners.get(context)?.accountId;
  }

  /**
   * Returns true for a device of another account, which responds like a missing one. Every key may use a device without
   * an account.
   */
  async isForeign(imei: string, route: Pick<Route, 'errors'>, context: RequestContext): Promise<boolean> {
    const owner = this.#owners.get(context);
    if (owner === undefined) return false;
    const { accountId } = await orUnavailable(
      route,
      request(this.#deps.bus, findDevice, { imei }, { timeoutMs: findLimitMs, correlationId: context.requestId }),
    );
    return accountId !== null && accountId !== owner.accountId;
  }

  /**
   * Returns the uploads of a device that belong to the caller: those requested while the caller's account owned the
   * device. An upload of a device without an account belongs to the device's owner.
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

  /** Publishes an audit event of a command, or of a view once it has ended, if the caller is known. */
  noteUse(imei: string, route: Route, input: Checked, context: RequestContext): void {
    const kind = kindOfUse(route, context);
    if (kind === undefined || !this.#owners.has(context)) return;
    const { channel } = { ...(input.query as object), ...(input.params as object) } as { channel?: number };
    const { command } = { ...(input.body as object | undefined) } as { command?: number };
    const parts = {
      operation: route.operationId,
      ...(channel === undefined ? {} : { channel }),
      ...(command === undefined ? {} : { command }),
    };
    if (kind === 'command') return this.#tell(imei, { kind, ...parts }, context);
    // A caller that left during admission watches nothing and will not leave again.
    if (context.response.closed) return;
    if (kind === 'view') whenShown(context, (seconds) => this.#tell(imei, { kind, ...parts, seconds }, context));
    this.#watch(context);
  }

  /** Publishes an audit event of a deleted video, whether or not the caller waited. */
  noteDeletion(imei: string, operation: string, context: RequestContext): void {
    this.#tell(imei, { kind: 'deletion', operation }, context);
  }

  #tell(imei: string, use: Omit<Use, 'keyId' | 'accountId' | 'imei' | 'address'>, context: RequestContext): void {
    const owner = this.#owners.get(context);
    if (owner === undefined) return;
    const { keyId, accountId } = owner;
    this.#deps.uses.tell({ keyId, accountId, imei, address: context.request.ip ?? '', ...use });
  }

  /**
   * Closes video when its key becomes invalid at the viewer's address: revoked, expired, or with other addresses. An
   * expired stream token closes none.
   */
  #watch(context: RequestContext): void {
    const keySha256 = hashOf(context.request.get('x-api-key') ?? '');
    const watch = { keySha256, doubts: 0, lookedMs: performance.now() };
    this.#watched.set(context, watch);
    // More than ten listeners wait for the end of a proxied response; Node.js would warn at each viewer.
    context.response.setMaxListeners(20);
    context.response.once('close', () => this.#watched.delete(context));
    // The key may have been revoked since its verification, when there was nothing to close.
    void this.#endUnlessValid(context, watch);
  }

  async #endUnlessValid(context: RequestContext, watch: Watch): Promise<void> {
    watch.doubts += 1;
    const { doubts } = watch;
    let isFirst = true;
    while (this.#watched.has(context) && watch.doubts === doubts) {
      const isValid = await this.#isValid(context, isFirst);
      if (isValid === false) context.response.destroy();
      if (isValid !== undefined) return;
      isFirst = false;
      await delay(askAgainMs, undefined, { ref: false });
    }
  }

  /** Returns undefined if platform-api is unreachable: that decides nothing. */
  async #isValid(context: RequestContext, isFirst: boolean): Promise<boolean | undefined> {
    const { request, requestId, log } = context;
    try {
      return isOpenTo(await this.#keys.ownerOf(request.get('x-api-key') ?? '', requestId), context);
    } catch (error) {
      if (isFirst) log.warn({ err: error }, 'could not verify a key again');
      return undefined;
    }
  }

  /** Changes of a key's addresses are not published, and a revocation may have been missed. */
  #lookAgain(): void {
    const nowMs = performance.now();
    const byKey = new Map<string, RequestContext[]>();
    for (const [context, { keySha256, lookedMs }] of this.#watched) {
      const known = byKey.get(keySha256);
      if (known !== undefined) known.push(context);
      else if (nowMs - lookedMs >= lookEveryMs && byKey.size < keysAtOnce) byKey.set(keySha256, [context]);
    }
    for (const contexts of byKey.values()) {
      for (const context of contexts) {
        const watch = this.#watched.get(context);
        if (watch === undefined) continue;
        watch.lookedMs = nowMs;
        this.#watched.delete(context);
        this.#watched.set(context, watch);
      }
      void this.#endRefused(contexts);
    }
  }

  /** Closes the views of one key that would be rejected now. */
  async #endRefused(contexts: readonly RequestContext[]): Promise<void> {
    const [first] = contexts;
    if (first === undefined) return;
    try {
      const owner = await this.#keys.ownerNow(first.request.get('x-api-key') ?? '', first.requestId);
      for (const context of contexts)
        if (this.#watched.has(context) && !isOpenTo(owner, context)) context.response.destroy();
    } catch (error) {
      // An unreachable platform-api decides nothing: the verification is retried.
      first.log.debug({ err: error }, 'could not verify a key again');
    }
  }

  async #authenticate(route: Route, context: RequestContext): Promise<void> {
    const key = context.request.get('x-api-key');
    if (key === undefined || key === '') throw new AppError('api_key_missing', 'The header x-api-key is required.');
    const invalid = new AppError('api_key_invalid', 'The API key is not valid.');
    if (key.length > 256) throw invalid;
    const owner = await orUnavailable(route, this.#keys.ownerOf(key, context.requestId));
    if (owner === null) {
      // Guesses are counted by address.
      await this.#limits.consume('reads', `ip:${context.request.ip ?? ''}`, context);
      throw invalid;
    }
    if (!isIpAllowed(owner.ipAllowlist, context.request.ip ?? ''))
      throw new AppError('permission_denied', 'The API key is not valid from this address.');
    const { scopes } = route;
    if (scopes !== undefined && !scopes.some((scope) => owner.scopes.includes(scope)))
      throw new AppError('permission_denied', `The API key needs the scope ${scopes.join(' or ')}.`);
    this.#owners.set(context, owner);
  }
}

/** Returns whether a key is valid at the address of a request. */
const isOpenTo = (owner: KeyOwner | null, { request }: RequestContext): boolean =>
  owner !== null && isIpAllowed(owner.ipAllowlist, request.ip ?? '');

/** `part`: another part of an earlier view. */
function kindOfUse(
  { bucket, operationId }: Route,
  { request }: RequestContext,
): 'command' | 'view' | 'part' | undefined {
  if (bucket === 'command') return 'command';
  if (request.method !== 'GET') return undefined;
  if (bucket === 'stream') return 'view';
  if (operationId !== 'downloadUpload') return undefined;
  // A player requests one clip in many parts: the first of them is the view.
  return /^bytes=0-|^$/.test(request.get('range') ?? '') ? 'view' : 'part';
}

/**
 * Publishes the duration of a view after its end; nothing for a rejected request, or a caller that left before the
 * response.
 */
function whenShown({ response }: RequestContext, tell: (seconds: number) => void): void {
  const sinceMs = performance.now();
  response.once('close', () => {
    // The status of a response that has not begun is 200.
    if (response.headersSent && response.statusCode < 300) tell(Math.round((performance.now() - sinceMs) / 1000));
  });
}

/** Returns 503, or 500 if the interface lists no 503. */
async function orUnavailable<T>(route: Pick<Route, 'errors'>, answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError(
      503 in route.errors ? 'unavailable' : 'internal',
      'Credentials cannot be checked at the moment.',
      {
        cause,
      },
    );
  }
}
