import type { Outcome } from '@fleet/bus';
import { KeyedMutex } from '@fleet/service-kit';
import {
  deleteMainStreamViewers,
  isMainStreamWanted,
  type StreamClaim,
  type StreamId,
  type StreamRequest,
} from '@fleet/storage';
import type { MediaStream } from '../domain/media-stream.ts';
import { formatStreamName } from '../domain/stream-name.ts';
import type { StreamRegistry } from '../domain/stream-registry.ts';
import { type CommandCameraDeps, switchCamera } from './command-camera.ts';

const mainStream = 0;
const subStream = 1;
/** A camera that has not switched is commanded again after this time. */
const retryAfterMs = 10_000;
/** A start may choose the main stream of a channel whose camera has not connected yet. */
const checkAfterStartMs = 30_000;

/** Dependencies of the switch. */
interface StreamSwitchDeps extends CommandCameraDeps {
  readonly registry: Pick<StreamRegistry, 'find' | 'streams'>;
  /** Stores a changed claim. */
  readonly renewClaim: (id: StreamId, claim: StreamClaim) => Promise<unknown>;
}

/**
 * Switches this pod's live streams between main and sub stream for all viewers: on request, and back when no viewer
 * wants the main stream. The pod of a stream decides alone, so concurrent requests cannot contradict each other. Who
 * wants the main stream is stored in Redis, so that it outlives each process.
 */
export class StreamSwitch {
  readonly #deps: StreamSwitchDeps;
  readonly #mutex = new KeyedMutex();
  readonly #retryAtMs = new WeakMap<MediaStream, number>();
  /** Streams that a data budget limits to the sub stream. */
  readonly #limited = new WeakSet<MediaStream>();

  constructor(deps: StreamSwitchDeps) {
    this.#deps = deps;
  }

  /** Switches a stream; returns null if it has this type already, or does not run here. */
  switchTo(id: StreamId, streamType: number, reason: string): Promise<Outcome | null> {
    return this.#mutex.runExclusive(formatStreamName(id), async () => {
      const stream = this.#deps.registry.find(id);
      if (stream === undefined || getStreamType(stream) === streamType) return null;
      const outcome = await switchCamera(this.#deps, id, streamType, reason);
      if (outcome.kind === 'answered' && outcome.answer.result === 0) await this.#record(stream, streamType);
      return outcome;
    });
  }

  /** Switches a live stream to the sub stream, because a data budget permits no more. Repeat it while that holds. */
  async limitToSub(stream: MediaStream, nowMs = performance.now()): Promise<void> {
    this.#limited.add(stream);
    if (getStreamType(stream) === subStream || (this.#retryAtMs.get(stream) ?? 0) > nowMs) return;
    this.#retryAtMs.set(stream, nowMs + retryAfterMs);
    await this.switchTo(stream.id, subStream, 'the data budget is spent');
  }

  /** Records that another service has switched the camera; the type then stays. */
  async recordSwitch(id: StreamId, streamType: number): Promise<void> {
    const stream = this.#deps.registry.find(id);
    if (stream !== undefined) await this.#record(stream, streamType, false);
  }

  /** Switches the streams that do not have the type that their viewers want. Call it every second. */
  async check(nowMs = performance.now()): Promise<void> {
    await Promise.all([...this.#deps.registry.streams].map((stream) => this.#checkStream(stream, nowMs)));
  }

  /** Deletes who wanted the main stream of a stream that has ended. */
  async deleteViewers({ id }: MediaStream): Promise<void> {
    if (id.kind !== 'live') return;
    try {
      await deleteMainStreamViewers(this.#deps.redis, id);
    } catch (error) {
      // It expires by itself.
      this.#deps.log.debug({ err: error }, 'could not delete the viewers of a main stream');
    }
  }

  async #checkStream(stream: MediaStream, nowMs: number): Promise<void> {
    const { id, claim } = stream;
    const isMain = getStreamType(stream) === mainStream;
    const mayChange = isMain
      ? claim.request?.returnsToSub === true
      : Date.now() - claim.startedAtMs < checkAfterStartMs;
    if (id.kind !== 'live' || stream.link === null || !mayChange) return;
    if (!isMain && this.#limited.has(stream)) return;
    if ((this.#retryAtMs.get(stream) ?? 0) > nowMs) return;
    try {
      if ((await isMainStreamWanted(this.#deps.redis, id)) === isMain) return;
    } catch (error) {
      this.#deps.log.debug({ err: error }, 'could not read the viewers of a main stream');
      return;
    }
    this.#retryAtMs.set(stream, nowMs + retryAfterMs);
    if (isMain) await this.switchTo(id, subStream, 'no viewer wants the main stream');
    else await this.switchTo(id, mainStream, 'a viewer wants the main stream');
  }

  async #record(stream: MediaStream, streamType: number, returnsToSub = streamType === mainStream): Promise<void> {
    const { claim } = stream;
    const request = claim.request ?? unsolicitedRequest;
    if (request.streamType === streamType && request.returnsToSub === returnsToSub) return;
    this.#retryAtMs.delete(stream);
    stream.claim = { ...claim, request: { ...request, streamType, returnsToSub } };
    await this.#deps.renewClaim(stream.id, stream.claim);
  }
}

const getStreamType = ({ claim }: MediaStream): number => claim.request?.streamType ?? mainStream;

/** Request of a camera that connected without one. */
const unsolicitedRequest: StreamRequest = {
  requestId: '',
  status: 'acknowledged',
  dataType: 0,
  streamType: mainStream,
  isForeign: false,
  requestedAtMs: 0,
  correlationId: '',
};
