import type { Logger } from '@fleet/service-kit';
import {
  claimStream,
  popOrphanedStreams,
  popTimedOutStreams,
  type Redis,
  readStream,
  releaseStream,
  renewStreamClaim,
  type StreamClaim,
  type StreamId,
} from '@fleet/storage';

/** A camera that lands while Redis is away is kept waiting for so long. */
const claimTimeoutMs = 15_000;
const claimRetryMs = 200;

/** This pod's claims in Redis. An outage never ends a stream: it only keeps new ones from beginning. */
export class StreamClaims {
  readonly #redis: Redis;
  readonly #owner: { podId: string; url: string };
  readonly #acceptUnsolicited: boolean;
  readonly #onRestored: (id: StreamId) => void;
  readonly #log: Logger;
  #isRedisUnavailable = false;

  constructor(options: {
    redis: Redis;
    owner: { podId: string; url: string };
    acceptUnsolicited: boolean;
    /** A claim that was void holds again: others may have been told that the stream had ended. */
    onRestored: (id: StreamId) => void;
    log: Logger;
  }) {
    this.#redis = options.redis;
    this.#owner = options.owner;
    this.#acceptUnsolicited = options.acceptUnsolicited;
    this.#onRestored = options.onRestored;
    this.#log = options.log;
  }

  /** Claims a stream for its camera's connection; null when nobody asked for it, or nobody can say so. */
  async claim(id: StreamId): Promise<StreamClaim | null> {
    const deadlineMs = performance.now() + claimTimeoutMs;
    for (;;) {
      try {
        const claimed = await claimStream(this.#redis, id, this.#owner, { acceptUnsolicited: this.#acceptUnsolicited });
        return claimed?.claim ?? null;
      } catch (error) {
        this.#onRedisFailure(error);
        if (performance.now() >= deadlineMs) return null;
        await new Promise((resolve) => {
          setTimeout(resolve, claimRetryMs);
        });
      }
    }
  }

  /** Renews a claim; false only when another pod is known to have taken it over. */
  async renew(id: StreamId, claim: StreamClaim): Promise<boolean> {
    try {
      const result = await renewStreamClaim(this.#redis, id, claim);
      this.#isRedisUnavailable = false;
      if (result === 'restored') this.#onRestored(id);
      return result !== 'lost';
    } catch (error) {
      this.#onRedisFailure(error);
      return true;
    }
  }

  /** Gives a claim up; when that fails it expires by itself. */
  async release(id: StreamId, claim: StreamClaim): Promise<void> {
    try {
      await releaseStream(this.#redis, id, claim.generation);
    } catch (error) {
      this.#onRedisFailure(error);
    }
  }

  /** True when a camera has been asked to bring this stream to us and has not come yet. */
  async isExpected(id: StreamId): Promise<boolean> {
    const { claim, request } = await readStream(this.#redis, id);
    return claim === null && request !== null && !request.isForeign;
  }

  /** Streams whose camera said yes and did not come in time; each is handed to one pod. */
  async popTimedOut(): Promise<StreamId[]> {
    try {
      return await popTimedOutStreams(this.#redis);
    } catch (error) {
      this.#onRedisFailure(error);
      return [];
    }
  }

  /** Streams of pods that have died; each is handed to one pod. */
  async popOrphaned(): Promise<StreamId[]> {
    try {
      return await popOrphanedStreams(this.#redis);
    } catch (error) {
      this.#onRedisFailure(error);
      return [];
    }
  }

  #onRedisFailure(error: unknown): void {
    if (!this.#isRedisUnavailable)
      this.#log.warn({ err: error }, 'Redis does not answer: running streams go on, new ones wait');
    this.#isRedisUnavailable = true;
  }
}
