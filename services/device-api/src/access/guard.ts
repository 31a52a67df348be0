import type { KnownVideoCaller, VideoAccess, VideoRight } from '@fleet/bus';
import {
  AppError,
  type RequestContext,
  type Route,
  scopeRequiredError,
  subjectOf,
  type VideoCaller,
} from '@fleet/service-kit';
import { assertGranted, type StreamGrant, type StreamTokenKind } from '@fleet/service-kit/stream-tokens';
import { closeResponse } from '@fleet/service-kit/websocket';
import type { StreamId, StreamViewer, UploadRecord } from '@fleet/storage';
import { notStreamingError } from '../use-cases/find-stream-source.ts';
import type { AuditEvent, AuditOutbox } from './audit-outbox.ts';
import { isRefusal, mapBusError } from './bus-errors.ts';
import { isCameraEnabled } from './cameras.ts';
import type { GuestStream } from './guests.ts';
import { type AcceptedCredentials, type IdentifierDeps, type Identity, identify } from './identify.ts';
import { hashKey } from './key-cache.ts';
import type { RateLimits } from './rate-limits.ts';
import type { TalkAudit } from './talk-audit.ts';
import { classifyUse, describeUse, onViewEnd, type ValidatedInput } from './uses.ts';
import type { AccessQuery, VideoAccessCache } from './video-access-cache.ts';
import type { ViewMonitor } from './view-monitor.ts';

/**
 * A right on a device. `view`: every caller who may see it. `any`: callers with at least one of the other rights.
 */
type DeviceRight = VideoRight | 'view' | 'any';

/** Live or recorded video of a channel. */
export type WatchedStream = StreamId & { readonly kind: 'live' | 'history' };

/** Roles that may end the use of others in their own account. */
const managingRoles: ReadonlySet<string> = new Set(['owner', 'admin', 'manager']);
/** Close code of a websocket. */
const accessLostCode = 4403;

/** How a caller used a device. */
type DeviceAccess = Omit<AuditEvent, 'keyId' | 'accountId' | 'imei' | 'address'> & {
  readonly accountId?: number | undefined;
};

interface GuardDeps extends IdentifierDeps {
  readonly auditOutbox: Pick<AuditOutbox, 'enqueue'>;
  readonly limits: RateLimits;
  readonly talkAudit: Pick<TalkAudit, 'track'>;
  readonly videoAccess: Pick<VideoAccessCache, 'get'>;
  readonly views: Pick<ViewMonitor, 'watch'>;
}

/** Authorizes requests: credentials before the parameters are parsed, the device and the caller's right afterwards. */
export class Guard {
  readonly #deps: GuardDeps;
  readonly #identities = new WeakMap<RequestContext, Identity>();
  readonly #guestStreams = new WeakMap<RequestContext, GuestStream>();
  readonly #continuingReaders = new WeakSet<RequestContext>();

  constructor(deps: GuardDeps) {
    this.#deps = deps;
  }

  /** Identifies the caller of a request, and counts it if its bucket counts by caller or address. */
  async authenticate(route: Route, context: RequestContext, accepted: AcceptedCredentials): Promise<void> {
    const { limits } = this.#deps;
    const address = context.request.ip ?? '';
    if (route.bucket === 'health') return limits.consume('health', address, context);
    const identity = route.isSecured === false ? undefined : await this.#identify(route, context, accepted);
    if (identity !== undefined) {
      assertScope(route, identity);
      this.#identities.set(context, identity);
    }
    if (route.bucket === 'hls') return limits.consume('reads', `hls:${this.getHlsReader(context).viewerId}`, context);
    if (route.bucket !== 'reads' && route.bucket !== 'stream') return;
    await limits.consume('reads', toCountKey(this.getCaller(context), address), context);
  }

  /** Returns the viewer as which an HLS reader counts: its token, or its caller and address without one. */
  getHlsReader(context: RequestContext): StreamViewer & { readonly isExpired: boolean } {
    const { tokenSha256, isExpired = false } = this.#identities.get(context) ?? {};
    const subject = subjectOf(this.getCaller(context));
    const viewerId = tokenSha256 ?? hashKey(`${subject} ${context.request.ip ?? ''}`);
    return { subject, viewerId, isExpired };
  }

  /** Returns the caller's access to a stream; undefined if no credential is required. Throws 403 or 404 without it. */
  async assertMayWatch(stream: WatchedStream, context: RequestContext): Promise<VideoAccess | undefined> {
    this.assertGranted(context, stream);
    const access = await this.findAccess(stream.imei, { errors: {} }, context);
    if (access === null) throw notStreamingError();
    if (access !== undefined) assertRight(access, stream.kind);
    return access;
  }

  /** Returns what a guest's share link shows. Throws 403 for the token of another link, and 403 or 410 without access. */
  async findGuestAccess(
    slug: string,
    context: RequestContext,
  ): Promise<{ readonly linkId: number; readonly access: VideoAccess }> {
    const { caller, slug: granted } = this.#identities.get(context) ?? {};
    if (caller?.kind !== 'link' || granted !== slug)
      throw new AppError('permission_denied', 'The token is for another share link.');
    const query = { caller, address: context.request.ip ?? '' };
    const access = await mapBusError({ errors: {} }, this.#deps.videoAccess.get(query, context.requestId));
    assertRight(access, 'live');
    return { linkId: caller.linkId, access };
  }

  /** Saves the stream that a guest's request shows. */
  setGuestStream(context: RequestContext, stream: GuestStream): void {
    this.#guestStreams.set(context, stream);
  }

  /** Returns the stream that a guest's request shows. */
  getGuestStream(context: RequestContext): GuestStream {
    const stream = this.#guestStreams.get(context);
    if (stream === undefined) throw new Error('the request is not one of an admitted guest');
    return stream;
  }

  /** Saves that a request of an HLS reader is not its first one. */
  setContinuingReader(context: RequestContext): void {
    this.#continuingReaders.add(context);
  }

  /** Returns whether a request belongs to an HLS reader that has read before. */
  isContinuingReader(context: RequestContext): boolean {
    return this.#continuingReaders.has(context);
  }

  /** Publishes an audit event of an HLS reader that begins; it has no end that could be seen. */
  auditHlsReader({ imei, channel }: StreamId, access: VideoAccess | undefined, context: RequestContext): void {
    const accountId = access?.vehicleAccountId ?? undefined;
    this.#audit(imei, { kind: 'view', operation: 'readPlaylist', channel, accountId }, context);
  }

  /** Returns the caller of a request; anonymous if no credential is required. */
  getCaller(context: RequestContext): VideoCaller {
    return this.#identities.get(context)?.caller ?? { kind: 'anonymous' };
  }

  /** Returns the content of the request's stream token; undefined for another credential. */
  getGrant(context: RequestContext): StreamGrant | undefined {
    return this.#identities.get(context)?.grant;
  }

  /** Throws 403 if the request has a token for another stream. */
  assertGranted(context: RequestContext, stream: { imei: string; channel: number; kind: StreamTokenKind }): void {
    const grant = this.#identities.get(context)?.grant;
    if (grant !== undefined) assertGranted(grant, stream);
  }

  /**
   * Returns what the caller may do with a device. Null: the device responds like a missing one, because it belongs to
   * another account or is unknown to a person. Undefined: no credential is required.
   */
  async findAccess(
    imei: string,
    route: Pick<Route, 'errors'>,
    context: RequestContext,
  ): Promise<VideoAccess | null | undefined> {
    const query = this.#toQuery(imei, context);
    if (query === undefined) return undefined;
    try {
      return await mapBusError(route, this.#deps.videoAccess.get(query, context.requestId));
    } catch (error) {
      if (isRefusal(error) && error.status === 404) return null;
      throw error;
    }
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
    const caller = this.getCaller(context);
    if (caller.kind === 'anonymous' || caller.kind === 'link') return uploads;
    const isHidden = (await this.findAccess(imei, route, context)) === null;
    return uploads.filter(({ accountId = null }) => (accountId === null ? !isHidden : accountId === caller.accountId));
  }

  /**
   * Publishes an audit event of a command, or of a view once it has ended, if the caller is known. Closes a view when
   * its caller loses access: of the given kind, or any if a file is watched.
   */
  async trackUse(
    imei: string,
    route: Route,
    input: ValidatedInput,
    context: RequestContext,
    access: VideoAccess | undefined,
  ): Promise<void> {
    const kind = classifyUse(route, context);
    const query = this.#toQuery(imei, context);
    if (kind === undefined || query === undefined) return;
    const accountId = access?.vehicleAccountId ?? undefined;
    const details = { operation: route.operationId, ...describeUse(input), accountId };
    if (kind === 'command') return this.#audit(imei, { kind, ...details }, context);
    const talk = kind === 'talk' && this.#toAuditEvent(imei, { kind, ...details }, context);
    if (talk) this.#deps.talkAudit.track(talk, context);
    // A caller that left during admission watches nothing and will not leave again.
    if (context.response.closed) return;
    if (kind === 'view') onViewEnd(context, (seconds) => this.#audit(imei, { kind, ...details, seconds }, context));
    if (access !== undefined) this.watch(query, toDeviceRight(route, input), access, context, details.channel);
    else await this.#watchFile(query, route, context);
  }

  /** Publishes an audit event of a deleted video, whether or not the caller waited. */
  auditDeletion(imei: string, operation: string, context: RequestContext): void {
    this.#audit(imei, { kind: 'deletion', operation }, context);
  }

  /**
   * Closes a response when its caller loses a right, or its camera is disabled. An expired stream token closes none.
   */
  watch(
    query: AccessQuery,
    right: DeviceRight,
    access: VideoAccess,
    { response, log }: RequestContext,
    channel?: number,
  ): void {
    const stop = this.#deps.views.watch({
      query,
      access,
      log,
      isPermitted: (current) =>
        hasRight(current, right) && (channel === undefined || isCameraEnabled(current, channel)),
      close: () => closeResponse(response, accessLostCode, 'access lost'),
    });
    // More than ten listeners wait for the end of a proxied response; Node.js would warn at each viewer.
    response.setMaxListeners(20);
    response.once('close', stop);
  }

  // A clip stays with the account that requested it: its viewers depend on their credential only.
  async #watchFile({ caller, address }: AccessQuery, route: Route, context: RequestContext): Promise<void> {
    const query = { caller, address };
    const access = await mapBusError(route, this.#deps.videoAccess.get(query, context.requestId));
    if (!context.response.closed) this.watch(query, 'view', access, context);
  }

  async #identify(route: Route, context: RequestContext, accepted: AcceptedCredentials): Promise<Identity | undefined> {
    try {
      return await identify(this.#deps, route, context, accepted);
    } catch (error) {
      // Guesses are counted by address.
      if (isRefusal(error) && error.status === 401 && error.code !== 'api_key_missing')
        await this.#deps.limits.consume('reads', `ip:${context.request.ip ?? ''}`, context);
      throw error;
    }
  }

  #toQuery(imei: string, context: RequestContext): (AccessQuery & { readonly caller: KnownVideoCaller }) | undefined {
    const caller = this.getCaller(context);
    return caller.kind === 'anonymous' ? undefined : { caller, imei, address: context.request.ip ?? '' };
  }

  #audit(imei: string, use: DeviceAccess, context: RequestContext): void {
    const event = this.#toAuditEvent(imei, use, context);
    if (event !== undefined) this.#deps.auditOutbox.enqueue(event);
  }

  /** Returns the audit event of a known caller. */
  #toAuditEvent(imei: string, use: DeviceAccess, context: RequestContext): AuditEvent | undefined {
    const caller = this.getCaller(context);
    if (caller.kind === 'anonymous') return undefined;
    const accountId = use.accountId ?? ('accountId' in caller ? caller.accountId : undefined);
    if (accountId === undefined) return undefined;
    return { ...use, ...toActor(caller), accountId, imei, address: context.request.ip ?? '' };
  }
}

/** Returns the right that a request needs; commands that declare none need that of commands. */
export const toDeviceRight = (route: Route, input: ValidatedInput): DeviceRight =>
  (route.requiredRight?.(input) ?? 'command') as DeviceRight;

/** Throws 403 if a caller may see a device and lacks the right. */
export function assertRight(access: VideoAccess, right: DeviceRight): void {
  if (!hasRight(access, right))
    throw new AppError('permission_denied', `The permission ${permissionNames[right]} on the vehicle is missing.`);
}

const permissionNames: Readonly<Record<DeviceRight, string>> = {
  view: 'view',
  any: 'live_video, history_video or commands',
  live: 'live_video',
  history: 'history_video',
  command: 'commands',
};

/** Throws 403 if a caller may not end the use of others: only managers of the vehicle's own account and its keys may. */
export function assertMayForce(access: VideoAccess | null | undefined): void {
  if (access === undefined) return;
  const isOwn = access !== null && access.accountId === access.vehicleAccountId;
  if (access?.role === 'superadmin' || (isOwn && (access.role === null || managingRoles.has(access.role)))) return;
  throw new AppError('permission_denied', 'Only a manager of the vehicle may take over with force=true.');
}

function hasRight({ rights }: VideoAccess, right: DeviceRight): boolean {
  if (right === 'view') return true;
  return right === 'any' ? Object.values(rights).includes(true) : rights[right];
}

function assertScope({ scopes: required }: Route, { scopes }: Identity): void {
  if (required === undefined || scopes === null || required.some((scope) => scopes.includes(scope))) return;
  throw scopeRequiredError(required);
}

function toCountKey(caller: VideoCaller, address: string): string {
  if (caller.kind === 'user') return `user:${caller.userId}`;
  return caller.kind === 'key' ? `key:${caller.keyId}` : `ip:${address}`;
}

function toActor(caller: KnownVideoCaller): Pick<AuditEvent, 'keyId' | 'userId' | 'linkId'> {
  if (caller.kind === 'link') return { linkId: caller.linkId };
  if (caller.kind === 'key') return { keyId: caller.keyId };
  const keyId = caller.keyId ?? caller.mintedByKeyId;
  return { userId: caller.userId, ...(keyId === null ? {} : { keyId }) };
}
