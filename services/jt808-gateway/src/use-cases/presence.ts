import { announce, type Bus, fenceSession, gatewayFenceSubject, sessionChanged } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { claimDevice, forgetGateway, keepGatewayAlive, type Redis, releaseDevice } from '@fleet/storage';
import type { Devices, Session } from '../domain/device.ts';
import type { GatewayMetrics } from '../metrics.ts';
import type { RedisGate } from '../store/redis-gate.ts';
import type { Registrations } from '../store/registrations.ts';

const aliveEveryMs = 2_000;
const flushEveryMs = 10_000;
const chunk = 250;
/** Fewer used serials than this are not worth a write. */
const serialStep = 256;

export interface PresenceOptions {
  readonly redis: Redis;
  readonly gate: RedisGate;
  readonly bus: Bus;
  readonly podId: string;
  readonly devices: Devices;
  readonly registrations: Registrations;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  /** A newer session of the terminal stands elsewhere. */
  readonly onSuperseded: (session: Session) => void;
}

/**
 * Tells Redis which terminals have their session here, and hears from it when a newer session stands elsewhere. While Redis is away sessions go on without
 * it; once it is back, or was emptied, all of them are announced again.
 */
export class Presence {
  readonly #o: PresenceOptions;
  #timers: NodeJS.Timeout[] = [];
  #wasAlive = false;
  #announcing: Promise<void> | undefined;
  #stopped = false;
  readonly #onReady = (): void => {
    this.#background('keepAlive', () => this.#keepAlive());
    this.#background('announce', () => this.announceAll());
  };

  constructor(options: PresenceOptions) {
    this.#o = options;
  }

  start(): void {
    this.#background('keepAlive', () => this.#keepAlive());
    this.#o.redis.on('ready', this.#onReady);
    this.#timers = [
      setInterval(() => this.#background('keepAlive', () => this.#keepAlive()), aliveEveryMs),
      setInterval(() => this.#background('flush', () => this.#flush()), flushEveryMs),
    ];
  }

  /** Claims the terminal for a new session, and tells the pod that had it. The session goes on unclaimed while Redis is away. */
  async claim(session: Session): Promise<void> {
    try {
      await this.#announce(session, 0);
    } catch (error) {
      this.#failed('claim', error);
    }
  }

  /** Removes a session that has ended. `isReturning`: this pod ended it, so that the terminal connects to the next one. */
  release(session: Session, options: { isReturning?: boolean } = {}): void {
    this.#background('release', async () => {
      const end = { ...options, lastSeenMs: session.connection.receivedAtMs };
      await this.#o.gate.run(() => releaseDevice(this.#o.redis, session.device.imei, session.id, end));
      this.#tell(session.device.imei, false);
    });
  }

  /** Announces every session again. */
  announceAll(): Promise<void> {
    this.#announcing ??= this.#announceSome(this.#o.devices.sessions()).finally(() => {
      this.#announcing = undefined;
    });
    return this.#announcing;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#o.redis.off('ready', this.#onReady);
    try {
      await this.#o.gate.run(() => forgetGateway(this.#o.redis, this.#o.podId));
    } catch (error) {
      // The key expires by itself.
      this.#failed('forgetGateway', error);
    }
  }

  async #keepAlive(): Promise<void> {
    const stood = await this.#o.gate.run(() => keepGatewayAlive(this.#o.redis, this.#o.podId));
    const wasEmptied = this.#wasAlive && !stood;
    this.#wasAlive = true;
    if (!wasEmptied || this.#stopped) return;
    this.#o.log.warn({ sessions: this.#o.devices.size }, 'Redis has lost its state: all sessions are announced again');
    await this.announceAll();
  }

  async #flush(): Promise<void> {
    const sessions = this.#o.devices.sessions();
    await this.#announceSome(
      sessions.filter(
        ({ generation, connection, announcedAtMs }) => generation === 0 || connection.receivedAtMs > announcedAtMs,
      ),
    );
    const used = sessions.filter(
      ({ device, savedSerial }) => ((device.serials.next - savedSerial) & 0xffff) >= serialStep,
    );
    await this.#inChunks(used, (session) => this.saveSerial(session, false));
  }

  /** Notes how far a terminal's serials are used. */
  async saveSerial(session: Session, isExact: boolean): Promise<void> {
    const { next } = session.device.serials;
    session.savedSerial = next;
    try {
      await this.#o.registrations.saveSerial(session.device.imei, next, isExact);
    } catch (error) {
      this.#failed('saveSerial', error);
    }
  }

  #announceSome(sessions: readonly Session[]): Promise<void> {
    // Without a claim in Redis, the moment of the login stands for its generation: only a later login wins.
    return this.#inChunks(sessions, (session) => this.#announce(session, session.generation || session.onlineSinceMs));
  }

  /** Bounds what is on its way to Redis at a time; sessions that ended meanwhile are left out. */
  async #inChunks(sessions: readonly Session[], work: (session: Session) => Promise<void>): Promise<void> {
    for (let at = 0; at < sessions.length && !this.#stopped; at += chunk) {
      const standing = sessions.slice(at, at + chunk).filter((session) => session.device.session === session);
      await Promise.all(standing.map(work));
    }
  }

  async #announce(session: Session, generation: number): Promise<void> {
    const { device, connection } = session;
    const lastSeenMs = connection.receivedAtMs;
    const answer = await this.#o.gate.run(() =>
      claimDevice(
        this.#o.redis,
        device.imei,
        {
          sessionId: session.id,
          podId: this.#o.podId,
          phone: session.phone,
          edition: session.edition,
          onlineSinceMs: session.onlineSinceMs,
          lastSeenMs,
          remoteAddress: connection.remoteAddress,
        },
        generation,
      ),
    );
    if (answer.generation === 0) {
      if (device.session === session) this.#o.onSuperseded(session);
      return;
    }
    const isNew = session.generation === 0;
    session.generation = answer.generation;
    session.announcedAtMs = lastSeenMs;
    const { previous } = answer;
    if (previous !== undefined && previous.sessionId !== session.id && previous.podId !== this.#o.podId)
      announce(
        this.#o.bus,
        fenceSession,
        { imei: device.imei, sessionId: previous.sessionId },
        gatewayFenceSubject(previous.podId),
      );
    if (isNew) this.#tell(device.imei, true);
    // The terminal left while Redis was asked: what was just written must not outlive it.
    if (device.session !== session && generation !== 0) this.release(session);
  }

  /** Whoever hears it looks into Redis: a session that was replaced by another has ended, too. */
  #tell(imei: string, isOnline: boolean): void {
    announce(this.#o.bus, sessionChanged, { imei, isOnline, atMs: Date.now() });
  }

  #background(operation: string, work: () => Promise<unknown>): void {
    work().catch((error: unknown) => this.#failed(operation, error));
  }

  #failed(operation: string, error: unknown): void {
    this.#o.metrics.stateFailures.inc({ operation });
    this.#o.log.debug({ err: error, operation }, 'Redis operation failed');
  }
}
