import { setTimeout as delay } from 'node:timers/promises';
import { BusError, findDevice, request } from '@fleet/bus';
import { AppError, isIpAllowed, type RequestContext, type Route } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { hashOf, type KeyCache, type KeyOwner } from './key-cache.ts';
import type { RateLimits } from './rate-limits.ts';
import type { Use, UseOutbox } from './use-outbox.ts';

const findLimitMs = 3_000;
/** How soon it is asked again whether the key of a viewer is valid, when nobody could say. */
const askAgainMs = 1_000;
/** Keys of viewers are asked about again so often: what has changed counts within five seconds. Where there are many they take turns. */
const lookEveryMs = 2_000;
const keysAtOnce = 50;
const tickMs = 1_000;

/** The checked parts of a request. */
export interface Checked {
  readonly query: unknown;
  readonly params: unknown;
  readonly body: unknown;
}

/** Video that is being watched. */
interface Watch {
  readonly keySha256: string;
  /** How often its key was put in doubt: a newer question takes the place of one that waits for an answer. */
  doubts: number;
  lookedMs: number;
}

type GuardParts = Pick<Deps, 'bus' | 'config'> & { readonly uses: Pick<UseOutbox, 'tell'> };

/** Who may do what: credentials before the parameters are read, the device's account after. */
export class Guard {
  readonly #deps: GuardParts;
  readonly #keys: KeyCache;
  readonly #limits: RateLimits;
  readonly #owners = new WeakMap<RequestContext, KeyOwner>();
  /** The ones that were looked at last are at the end. */
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

  /** Checks the API key of a request, and counts it where its bucket counts by key or address. */
  async enter(route: Route, context: RequestContext): Promise<void> {
    const address = context.request.ip ?? '';
    if (route.bucket === 'health') return this.#limits.consume('health', address, context);
    if (this.#deps.config.DEVICE_API_AUTH === 'key' && route.isSecured !== false)
      await this.#authenticate(route, context);
    if (route.bucket !== 'reads' && route.bucket !== 'stream') return;
    const owner = this.#owners.get(context);
    await this.#limits.consume('reads', owner === undefined ? `ip:${address}` : `key:${owner.keyId}`, context);
  }

  /** The account of the request's key; undefined where none is asked for. */
  accountOf(context: RequestContext): number | undefined {
    return this.#owners.get(context)?.accountId;
  }

  /** True for a device of another account than the caller's, which answers as one that is not there. A device of no account is everybody's who has a key. */
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

  /** Tells the audit log of a command to a device, and of video that was watched once that is done, where it is known who has asked for it. */
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
    // Who has left while this was being admitted watches nothing, and will not leave again.
    if (context.response.closed) return;
    if (kind === 'view') whenShown(context, (seconds) => this.#tell(imei, { kind, ...parts, seconds }, context));
    this.#watch(context);
  }

  /** Tells the audit log of video that has been deleted, whether or not the caller has waited for it. */
  noteDeletion(imei: string, operation: string, context: RequestContext): void {
    this.#tell(imei, { kind: 'deletion', operation }, context);
  }

  #tell(imei: string, use: Omit<Use, 'keyId' | 'accountId' | 'imei' | 'address'>, context: RequestContext): void {
    const owner = this.#owners.get(context);
    if (owner === undefined) return;
    const { keyId, accountId } = owner;
    this.#deps.uses.tell({ keyId, accountId, imei, address: context.request.ip ?? '', ...use });
  }

  /** Video is cut when its key is valid no more, or not where the viewer is: revoked, expired, with other addresses. That its stream token expires cuts none. */
  #watch(context: RequestContext): void {
    const keySha256 = hashOf(context.request.get('x-api-key') ?? '');
    const watch = { keySha256, doubts: 0, lookedMs: performance.now() };
    this.#watched.set(context, watch);
    // Those who wait for the end of a response that is piped are more than ten, of which Node would warn with each viewer.
    context.response.setMaxListeners(20);
    context.response.once('close', () => this.#watched.delete(context));
    // It may have been revoked since it was checked, while nothing was watched that could be cut.
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

  /** Undefined where nobody can say: that is no verdict. */
  async #isValid(context: RequestContext, isFirst: boolean): Promise<boolean | undefined> {
    const { request, requestId, log } = context;
    try {
      return isOpenTo(await this.#keys.ownerOf(request.get('x-api-key') ?? '', requestId), context);
    } catch (error) {
      if (isFirst) log.warn({ err: error }, 'whether a key is still valid could not be asked');
      return undefined;
    }
  }

  /** Of a change of a key's addresses nobody tells, and that it was revoked may not have been heard. */
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

  /** Ends those of one key who would not be let in now. */
  async #endRefused(contexts: readonly RequestContext[]): Promise<void> {
    const [first] = contexts;
    if (first === undefined) return;
    try {
      const owner = await this.#keys.ownerNow(first.request.get('x-api-key') ?? '', first.requestId);
      for (const context of contexts)
        if (this.#watched.has(context) && !isOpenTo(owner, context)) context.response.destroy();
    } catch (error) {
      // That nobody can say is no verdict: it is asked again in a moment.
      first.log.debug({ err: error }, 'whether a key is still valid could not be asked');
    }
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
    if (!isIpAllowed(owner.ipAllowlist, context.request.ip ?? ''))
      throw new AppError('permission_denied', 'The API key is not valid from this address.');
    const { scopes } = route;
    if (scopes !== undefined && !scopes.some((scope) => owner.scopes.includes(scope)))
      throw new AppError('permission_denied', `The API key needs the scope ${scopes.join(' or ')}.`);
    this.#owners.set(context, owner);
  }
}

/** Whether a key is valid where a request comes from. */
const isOpenTo = (owner: KeyOwner | null, { request }: RequestContext): boolean =>
  owner !== null && isIpAllowed(owner.ipAllowlist, request.ip ?? '');

/** `part`: more of what was viewed before. */
function kindOfUse(
  { bucket, operationId }: Route,
  { request }: RequestContext,
): 'command' | 'view' | 'part' | undefined {
  if (bucket === 'command') return 'command';
  if (request.method !== 'GET') return undefined;
  if (bucket === 'stream') return 'view';
  if (operationId !== 'downloadUpload') return undefined;
  // A player asks for one clip in many parts: the first of them is the view.
  return /^bytes=0-|^$/.test(request.get('range') ?? '') ? 'view' : 'part';
}

/** Tells how long video was shown, once it has ended; of a refusal nothing is told, nor of a caller that left before there was an answer. */
function whenShown({ response }: RequestContext, tell: (seconds: number) => void): void {
  const sinceMs = performance.now();
  response.once('close', () => {
    // The status of an answer that has not begun is 200.
    if (response.headersSent && response.statusCode < 300) tell(Math.round((performance.now() - sinceMs) / 1000));
  });
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
