import type { VideoAccess } from '@fleet/bus';
import { terminalKey } from '@fleet/jt808';
import { AppError, type RequestContext, type Route } from '@fleet/service-kit';
import type { StreamId } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { notConnectedError } from '../domain/outcome.ts';
import { uploadNotFoundError } from '../domain/upload.ts';
import { notStreamingError } from '../use-cases/find-stream-source.ts';
import { findUpload } from '../use-cases/find-upload.ts';
import { nameCaller } from './caller-name.ts';
import { assertCameraEnabled, isCameraOpened } from './cameras.ts';
import { assertRight, toDeviceRight } from './guard.ts';
import { authorizeGuest, isGuestRoute } from './guests.ts';
import { admitHlsReader } from './hls-readers.ts';
import type { RateLimits } from './rate-limits.ts';
import type { ValidatedInput } from './uses.ts';

/** Returns the canonical number of a terminal; throws 400 for an invalid one. */
export function canonicalImei(imei: string): string {
  const key = terminalKey(imei);
  if (key === null) throw new AppError('validation_failed', 'The parameter imei is not a terminal number.');
  return key;
}

/** A request about a device, whose number is canonical. */
interface DeviceRequest {
  readonly imei: string;
  readonly channel: number | undefined;
  readonly route: Route;
  readonly input: ValidatedInput;
  readonly context: RequestContext;
}

type AuthorizerDeps = Pick<Deps, 'config' | 'guard' | 'mainStreamViewers' | 'redis' | 'uploads'>;

/** Checks the caller's access to the device or upload of a request, and counts commands and opened channels. */
export class DeviceAuthorizer {
  readonly #deps: AuthorizerDeps;
  readonly #limits: RateLimits;

  constructor(deps: AuthorizerDeps, limits: RateLimits) {
    this.#deps = deps;
    this.#limits = limits;
  }

  async authorize(route: Route, input: ValidatedInput, context: RequestContext): Promise<void> {
    const { guard } = this.#deps;
    if (isGuestRoute(route)) return authorizeGuest(this.#deps, this.#limits, { route, input, context });
    if (route.bucket === 'hls') return this.#authorizeHls(route, input, context);
    const { video_id: uploadId } = input.query as { video_id?: string };
    if (uploadId !== undefined) return this.#authorizeUpload(uploadId, route, input, context);
    if (route.bucket !== 'command' && route.bucket !== 'stream') return;
    const { imei, channel } = {
      ...(input.body as object | undefined),
      ...(input.query as object),
      ...(input.params as object),
    } as { imei: string; channel?: number };
    const key = canonicalImei(imei);
    if (route.bucket === 'stream' && channel !== undefined)
      guard.assertGranted(context, { imei: key, channel, kind: toStreamKind(route, input) });
    const access = await this.#authorizeAndConsume({ imei: key, channel, route, input, context });
    await guard.trackUse(key, route, input, context, access);
    if (route.bucket === 'stream' && channel !== undefined)
      this.#trackQuality({ kind: toStreamKind(route, input), imei: key, channel }, context);
  }

  /**
   * Counts a use of a device. A hidden device responds like a missing one here too, and its bucket is not counted.
   */
  async #authorizeAndConsume(request: DeviceRequest): Promise<VideoAccess | undefined> {
    const { imei, channel, route, input, context } = request;
    const { guard } = this.#deps;
    const isStream = route.bucket === 'stream';
    const access = await guard.findAccess(imei, route, context);
    const name = isStream ? `${imei}:${channel}` : imei;
    const bucketKey = access === null ? `not visible to ${describeCaller(guard.getCaller(context))}:${name}` : name;
    await this.#limits.consume(isStream ? 'stream' : 'command', bucketKey, context);
    const right = toDeviceRight(route, input);
    // Talk starts its stream, so a missing device is not connected.
    if (access === null) throw isStream && right !== 'command' ? notStreamingError() : notConnectedError();
    if (access === undefined) return access;
    assertRight(access, right);
    if (channel !== undefined && (right === 'live' || right === 'history' || isCameraOpened(route)))
      assertCameraEnabled(access, channel);
    return access;
  }

  async #authorizeUpload(
    uploadId: string,
    route: Route,
    input: ValidatedInput,
    context: RequestContext,
  ): Promise<void> {
    const { guard } = this.#deps;
    const upload = await findUpload(this.#deps, uploadId.toLowerCase());
    const { imei, channel } = upload.clip;
    if ((await guard.filterOwnUploads(imei, [upload], route, context)).length === 0) throw uploadNotFoundError();
    if (route.bucket === 'command') {
      // The clip may belong to the caller although the camera does not any more.
      await this.#authorizeAndConsume({ imei, channel, route, input, context });
    }
    await guard.trackUse(imei, route, input, context, undefined);
  }

  async #authorizeHls(route: Route, input: ValidatedInput, context: RequestContext): Promise<void> {
    const { config, guard, redis } = this.#deps;
    const { imei, channel } = input.params as { imei: string; channel: number };
    const id = { kind: toWatchedKind(route, input), imei: canonicalImei(imei), channel };
    const access = await guard.assertMayWatch(id, context);
    if (access !== undefined) assertCameraEnabled(access, channel);
    const { isExpired, ...viewer } = guard.getHlsReader(context);
    const isNew = await admitHlsReader({ config, redis, limits: this.#limits }, { id, viewer, isExpired, context });
    if (isNew) guard.auditHlsReader(id, access, context);
    else guard.setContinuingReader(context);
    this.#trackQuality(id, context);
  }

  /** Records whether a viewer of live video wants the main stream. */
  #trackQuality(id: StreamId, context: RequestContext): void {
    if (id.kind !== 'live' || context.request.method !== 'GET') return;
    const { guard, mainStreamViewers } = this.#deps;
    const caller = nameCaller(guard.getCaller(context));
    const hasMainUrl = guard.getGrant(context)?.isMainStream;
    mainStreamViewers.track({ id, caller, hasMainUrl }, context);
  }
}

const toWatchedKind = (route: Route, input: ValidatedInput): 'live' | 'history' =>
  toDeviceRight(route, input) === 'history' ? 'history' : 'live';

// Of the routes that open a stream, only talk needs the right of commands.
const toStreamKind = (route: Route, input: ValidatedInput): 'live' | 'history' | 'talk' =>
  toDeviceRight(route, input) === 'command' ? 'talk' : toWatchedKind(route, input);

/** Returns a name of the account or guest for counters. */
const describeCaller = (caller: ReturnType<Deps['guard']['getCaller']>): string =>
  'accountId' in caller ? `account ${caller.accountId}` : caller.kind;
