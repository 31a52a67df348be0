import { setTimeout as delay } from 'node:timers/promises';
import { BusError, findDevice, request } from '@fleet/bus';
import { AppError, isIpAllowed, type RequestContext, type Route } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import type { AuditEvent, AuditOutbox } from './audit-outbox.ts';
import { hashKey, type KeyCache, type KeyOwner } from './key-cache.ts';
import type { RateLimits } from './rate-limits.ts';

const findDeviceTimeoutMs = 3_000;
/** Retry interval of the verification of a viewer's key if platform-api is unreachable. */
const retryIntervalMs = 1_000;
/**
 * Interval at which keys of viewers are verified again: a change takes effect within five seconds. Many keys are
 * verified in rotation.
 */
const revalidateIntervalMs = 2_000;
const revalidateBatchSize = 50;
const tickIntervalMs = 1_000;

/** The validated parts of a request. */
export interface ValidatedInput {
  readonly query: unknown;
  readonly params: unknown;
  readonly body: unknown;
}

/** Video that a client is watching. */
interface ViewerState {
  readonly keySha256: string;
  /** Counts the verifications that were requested for its key: a newer one replaces a pending one. */
  revalidations: number;
  revalidatedAtMs: number;
}

type GuardDeps = Pick<Deps, 'bus' | 'config'> & { readonly auditOutbox: Pick<AuditOutbox, 'enqueue'> };

/** Authorizes requests: credentials before the parameters are parsed, the device's account afterwards. */
export class Guard {
  readonly #deps: GuardDeps;
  readonly #keys: KeyCache;
  readonly #limits: RateLimits;
  readonly #owners = new WeakMap<RequestContext, KeyOwner>();
  /** The most recently verified ones are at the end. */
  readonly #viewers = new Map<RequestContext, ViewerState>();
  readonly #tickTimer: NodeJS.Timeout;

  constructor(deps: GuardDeps, keys: KeyCache, limits: RateLimits) {
    this.#deps = deps;
    this.#keys = keys;
    this.#limits = limits;
    keys.onInvalidated((keySha256) => {
      for (const [context, viewer] of this.#viewers)
        if (keySha256 === null || viewer.keySha256 === keySha256) void this.#revalidate(context, viewer);
    });
    this.#tickTimer = setInterval(() => this.#revalidateAll(), tickIntervalMs);
  }

  stop(): void {
    clearInterval(this.#tickTimer);
  }

  /** Verifies the API key of a request, and counts it if its bucket counts by key or address. */
  async authenticate(route: Route, context: RequestContext): Promise<void> {
    const address = context.request.ip ?? '';
    if (route.bucket === 'health') return this.#limits.consume('health', address, context);
    if (this.#deps.config.DEVICE_API_AUTH === 'key' && route.isSecured !== false)
      await this.#authenticateKey(route, context);
    if (route.bucket !== 'reads' && route.bucket !== 'stream') return;
    const owner = this.#owners.get(context);
    await this.#limits.consume('reads', owner === undefined ? `ip:${address}` : `key:${owner.keyId}`, context);
  }

  /** Returns the account of the request's key; undefined if no key is required. */
  getAccountId(context: RequestContext): number | undefined {
    return this.#owners.get(context)?.accountId;
  }

  /**
   * Returns true for a device of another account, which responds like a missing one. Every key may use a device without
   * an account.
   */
  async isOtherTenant(imei: string, route: Pick<Route, 'errors'>, context: RequestContext): Promise<boolean> {
    const owner = this.#owners.get(context);
    if (owner === undefined) return false;
    const { accountId } = await mapBusError(
      route,
      request(
        this.#deps.bus,
        findDevice,
        { imei },
        { timeoutMs: findDeviceTimeoutMs, correlationId: context.requestId },
      ),
    );
    return accountId !== null && accountId !== owner.accountId;
  }

  /**
   * Returns the uploads of a device that belong to the caller: those requested while the caller's account owned the
   * device. An upload of a device without an account belongs to the device's owner.
   */
  async filterOwnUploads<T extends Pick<UploadRecord, 'accountId'>>(
    imei: string,
    uploads: readonly T[],
    route: Pick<Route, 'errors'>,
    context: RequestContext,
  ): Promise<readonly T[]> {
    const owner = this.#owners.get(context);
    if (owner === undefined) return uploads;
    const isOtherTenant = await this.isOtherTenant(imei, route, context);
    return uploads.filter(({ accountId = null }) =>
      accountId === null ? !isOtherTenant : accountId === owner.accountId,
    );
  }

  /** Publishes an audit event of a command, or of a view once it has ended, if the caller is known. */
  auditUse(imei: string, route: Route, input: ValidatedInput, context: RequestContext): void {
    const kind = classifyUse(route, context);
    if (kind === undefined || !this.#owners.has(context)) return;
    const { channel } = { ...(input.query as object), ...(input.params as object) } as { channel?: number };
    const { command } = { ...(input.body as object | undefined) } as { command?: number };
    const details = {
      operation: route.operationId,
      ...(channel === undefined ? {} : { channel }),
      ...(command === undefined ? {} : { command }),
    };
    if (kind === 'command') return this.#audit(imei, { kind, ...details }, context);
    // A caller that left during admission watches nothing and will not leave again.
    if (context.response.closed) return;
    if (kind === 'view') onViewEnd(context, (seconds) => this.#audit(imei, { kind, ...details, seconds }, context));
    this.#trackViewer(context);
  }

  /** Publishes an audit event of a deleted video, whether or not the caller waited. */
  auditDeletion(imei: string, operation: string, context: RequestContext): void {
    this.#audit(imei, { kind: 'deletion', operation }, context);
  }

  #audit(
    imei: string,
    event: Omit<AuditEvent, 'keyId' | 'accountId' | 'imei' | 'address'>,
    context: RequestContext,
  ): void {
    const owner = this.#owners.get(context);
    if (owner === undefined) return;
    const { keyId, accountId } = owner;
    this.#deps.auditOutbox.enqueue({ keyId, accountId, imei, address: context.request.ip ?? '', ...event });
  }

  /**
   * Closes video when its key becomes invalid at the viewer's address: revoked, expired, or with other addresses. An
   * expired stream token closes none.
   */
  #trackViewer(context: RequestContext): void {
    const keySha256 = hashKey(context.request.get('x-api-key') ?? '');
    const viewer = { keySha256, revalidations: 0, revalidatedAtMs: performance.now() };
    this.#viewers.set(context, viewer);
    // More than ten listeners wait for the end of a proxied response; Node.js would warn at each viewer.
    context.response.setMaxListeners(20);
    context.response.once('close', () => this.#viewers.delete(context));
    // The key may have been revoked since its verification, when there was nothing to close.
    void this.#revalidate(context, viewer);
  }

  async #revalidate(context: RequestContext, viewer: ViewerState): Promise<void> {
    viewer.revalidations += 1;
    const { revalidations } = viewer;
    let isFirstAttempt = true;
    while (this.#viewers.has(context) && viewer.revalidations === revalidations) {
      const isValid = await this.#isKeyValid(context, isFirstAttempt);
      if (isValid === false) context.response.destroy();
      if (isValid !== undefined) return;
      isFirstAttempt = false;
      await delay(retryIntervalMs, undefined, { ref: false });
    }
  }

  /** Returns undefined if platform-api is unreachable: that decides nothing. */
  async #isKeyValid(context: RequestContext, isFirstAttempt: boolean): Promise<boolean | undefined> {
    const { request, requestId, log } = context;
    try {
      return isKeyAllowed(await this.#keys.get(request.get('x-api-key') ?? '', requestId), context);
    } catch (error) {
      if (isFirstAttempt) log.warn({ err: error }, 'could not verify a key again');
      return undefined;
    }
  }

  /** Changes of a key's addresses are not published, and a revocation may have been missed. */
  #revalidateAll(): void {
    const nowMs = performance.now();
    const byKey = new Map<string, RequestContext[]>();
    for (const [context, { keySha256, revalidatedAtMs }] of this.#viewers) {
      const existing = byKey.get(keySha256);
      if (existing !== undefined) existing.push(context);
      else if (nowMs - revalidatedAtMs >= revalidateIntervalMs && byKey.size < revalidateBatchSize)
        byKey.set(keySha256, [context]);
    }
    for (const contexts of byKey.values()) {
      for (const context of contexts) {
        const viewer = this.#viewers.get(context);
        if (viewer === undefined) continue;
        viewer.revalidatedAtMs = nowMs;
        this.#viewers.delete(context);
        this.#viewers.set(context, viewer);
      }
      void this.#closeRevoked(contexts);
    }
  }

  /** Closes the views of one key that would be rejected now. */
  async #closeRevoked(contexts: readonly RequestContext[]): Promise<void> {
    const [first] = contexts;
    if (first === undefined) return;
    try {
      const owner = await this.#keys.fetch(first.request.get('x-api-key') ?? '', first.requestId);
      for (const context of contexts)
        if (this.#viewers.has(context) && !isKeyAllowed(owner, context)) context.response.destroy();
    } catch (error) {
      // An unreachable platform-api decides nothing: the verification is retried.
      first.log.debug({ err: error }, 'could not verify a key again');
    }
  }

  async #authenticateKey(route: Route, context: RequestContext): Promise<void> {
    const key = context.request.get('x-api-key');
    if (key === undefined || key === '') throw new AppError('api_key_missing', 'The header x-api-key is required.');
    const invalid = new AppError('api_key_invalid', 'The API key is not valid.');
    if (key.length > 256) throw invalid;
    const owner = await mapBusError(route, this.#keys.get(key, context.requestId));
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
const isKeyAllowed = (owner: KeyOwner | null, { request }: RequestContext): boolean =>
  owner !== null && isIpAllowed(owner.ipAllowlist, request.ip ?? '');

/** `part`: another part of an earlier view. */
function classifyUse(
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
function onViewEnd({ response }: RequestContext, onEnd: (seconds: number) => void): void {
  const sinceMs = performance.now();
  response.once('close', () => {
    // The status of a response that has not begun is 200.
    if (response.headersSent && response.statusCode < 300) onEnd(Math.round((performance.now() - sinceMs) / 1000));
  });
}

/** Returns 503, or 500 if the interface lists no 503. */
async function mapBusError<T>(route: Pick<Route, 'errors'>, work: Promise<T>): Promise<T> {
  try {
    return await work;
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
