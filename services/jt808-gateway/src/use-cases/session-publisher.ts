import { type Bus, fenceSession, gatewayFenceSubject, publish, sessionChanged } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { claimDevice, deregisterGateway, heartbeatGateway, type Redis, releaseDevice } from '@fleet/storage';
import type { Devices, Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { RedisBreaker } from '../store/redis-breaker.ts';
import type { Registrations } from '../store/registrations.ts';

const heartbeatIntervalMs = 2_000;
const flushIntervalMs = 10_000;
const chunkSize = 250;
/** Number of used serials that is worth a write. */
const serialStep = 256;

interface SessionPublisherOptions {
  readonly redis: Redis;
  readonly breaker: RedisBreaker;
  readonly bus: Bus;
  readonly podId: string;
  readonly devices: Devices;
  readonly registrations: Registrations;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  /** Called when another pod has a newer session of the terminal. */
  readonly onSuperseded: (session: Session) => void;
}

/**
 * Publishes the sessions of this pod to Redis and detects newer sessions on other pods. Sessions continue while Redis
 * is unavailable. All of them are claimed again once it is back or was emptied.
 */
export class SessionPublisher {
  readonly #options: SessionPublisherOptions;
  #timers: NodeJS.Timeout[] = [];
  #hasHeartbeat = false;
  #renewal: Promise<void> | undefined;
  #isStopped = false;
  readonly #onReady = (): void => {
    this.#runInBackground('heartbeat', () => this.#heartbeat());
    this.#runInBackground('renewClaims', () => this.renewAllClaims());
  };

  constructor(options: SessionPublisherOptions) {
    this.#options = options;
  }

  start(): void {
    this.#runInBackground('heartbeat', () => this.#heartbeat());
    this.#options.redis.on('ready', this.#onReady);
    this.#timers = [
      setInterval(() => this.#runInBackground('heartbeat', () => this.#heartbeat()), heartbeatIntervalMs),
      setInterval(() => this.#runInBackground('flush', () => this.#flush()), flushIntervalMs),
    ];
  }

  /**
   * Claims the terminal for a new session and fences the previous pod. While Redis is unavailable, the session
   * continues unclaimed.
   */
  async claim(session: Session): Promise<void> {
    try {
      await this.#renewClaim(session, 0);
    } catch (error) {
      this.#onRedisFailure('claim', error);
    }
  }

  /**
   * Releases the claim of a session that has ended. With `isReturning` this pod ended it, so the terminal will
   * reconnect to another one.
   */
  release(session: Session, options: { isReturning?: boolean } = {}): void {
    this.#runInBackground('release', async () => {
      const end = { ...options, lastSeenMs: session.connection.receivedAtMs };
      await this.#options.breaker.run(() => releaseDevice(this.#options.redis, session.device.imei, session.id, end));
      this.#publishChange(session.device.imei, false);
    });
  }

  /** Claims every session again. */
  renewAllClaims(): Promise<void> {
    this.#renewal ??= this.#renewClaims(this.#options.devices.sessions()).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#options.redis.off('ready', this.#onReady);
    try {
      await this.#options.breaker.run(() => deregisterGateway(this.#options.redis, this.#options.podId));
    } catch (error) {
      // The key expires by itself.
      this.#onRedisFailure('deregister', error);
    }
  }

  async #heartbeat(): Promise<void> {
    const existed = await this.#options.breaker.run(() => heartbeatGateway(this.#options.redis, this.#options.podId));
    const wasEmptied = this.#hasHeartbeat && !existed;
    this.#hasHeartbeat = true;
    if (!wasEmptied || this.#isStopped) return;
    this.#options.log.warn(
      { sessions: this.#options.devices.size },
      'Redis has lost its state: claiming all sessions again',
    );
    await this.renewAllClaims();
  }

  async #flush(): Promise<void> {
    const sessions = this.#options.devices.sessions();
    await this.#renewClaims(
      sessions.filter(
        ({ generation, connection, savedLastSeenMs }) => generation === 0 || connection.receivedAtMs > savedLastSeenMs,
      ),
    );
    const sessionsToSave = sessions.filter(
      ({ device, savedSerial }) => ((device.serials.peek - savedSerial) & 0xffff) >= serialStep,
    );
    await this.#forEachInChunks(sessionsToSave, (session) => this.saveSerial(session, false));
  }

  /** Saves the next serial of a terminal. */
  async saveSerial(session: Session, isExact: boolean): Promise<void> {
    const { peek: nextSerial } = session.device.serials;
    session.savedSerial = nextSerial;
    try {
      await this.#options.registrations.saveSerial(session.device.imei, nextSerial, isExact);
    } catch (error) {
      this.#onRedisFailure('saveSerial', error);
    }
  }

  #renewClaims(sessions: readonly Session[]): Promise<void> {
    // Without a claim in Redis, the login time serves as its generation: only a later login wins.
    return this.#forEachInChunks(sessions, (session) =>
      this.#renewClaim(session, session.generation || session.onlineSinceMs),
    );
  }

  /** Runs a task per session with bounded concurrency. Skips sessions that have ended. */
  async #forEachInChunks(sessions: readonly Session[], task: (session: Session) => Promise<void>): Promise<void> {
    for (let offset = 0; offset < sessions.length && !this.#isStopped; offset += chunkSize) {
      const activeSessions = sessions
        .slice(offset, offset + chunkSize)
        .filter((session) => session.device.session === session);
      await Promise.all(activeSessions.map(task));
    }
  }

  async #renewClaim(session: Session, generation: number): Promise<void> {
    const { device, connection } = session;
    const lastSeenMs = connection.receivedAtMs;
    const claim = await this.#options.breaker.run(() =>
      claimDevice(
        this.#options.redis,
        device.imei,
        {
          sessionId: session.id,
          podId: this.#options.podId,
          phone: session.phone,
          edition: session.edition,
          onlineSinceMs: session.onlineSinceMs,
          lastSeenMs,
          remoteAddress: connection.remoteAddress,
        },
        generation,
      ),
    );
    if (claim.generation === 0) {
      if (device.session === session) this.#options.onSuperseded(session);
      return;
    }
    const isNew = session.generation === 0;
    session.generation = claim.generation;
    session.savedLastSeenMs = lastSeenMs;
    const { previous } = claim;
    if (previous !== undefined && previous.sessionId !== session.id && previous.podId !== this.#options.podId)
      publish(
        this.#options.bus,
        fenceSession,
        { imei: device.imei, sessionId: previous.sessionId },
        gatewayFenceSubject(previous.podId),
      );
    if (isNew) this.#publishChange(device.imei, true);
    // The terminal disconnected while the claim was written, so the claim is released.
    if (device.session !== session && generation !== 0) this.release(session);
  }

  /**
   * Publishes a change. Subscribers read the state from Redis, as a session that was replaced by another has ended,
   * too.
   */
  #publishChange(imei: string, isOnline: boolean): void {
    publish(this.#options.bus, sessionChanged, { imei, isOnline, atMs: Date.now() });
  }

  #runInBackground(operation: string, task: () => Promise<unknown>): void {
    task().catch((error: unknown) => this.#onRedisFailure(operation, error));
  }

  #onRedisFailure(operation: string, error: unknown): void {
    this.#options.metrics.redisFailures.inc({ operation });
    this.#options.log.debug({ err: error, operation }, 'Redis operation failed');
  }
}
