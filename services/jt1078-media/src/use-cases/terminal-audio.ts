import { randomUUID } from 'node:crypto';
import type { DeviceCommandClient } from '@fleet/bus';
import { hourMs, type Logger } from '@fleet/service-kit';
import { type Redis, readDevice, readTerminalProfile, type TerminalAudio, type TerminalProfile } from '@fleet/storage';

/** Viewers and talkers wait during the query. */
const queryTimeoutMs = 3_000;
/** Interval between queries of a terminal that does not respond to 0x9003 with usable attributes. */
const retryIntervalMs = hourMs;
const maxFailedQueries = 10_000;

const noProfile: TerminalProfile = { model: null, audio: null };

/** Finds the audio properties of terminals: from an earlier 0x1003, or by querying the terminal (0x9003). */
export class TerminalAudioProfiles {
  readonly #redis: Redis;
  readonly #commandClient: DeviceCommandClient;
  readonly #log: Logger;
  readonly #searches = new Map<string, Promise<TerminalAudio | null>>();
  /** Times of the last queries without a usable response. */
  readonly #failedQueriesAtMs = new Map<string, number>();

  constructor(options: { redis: Redis; commandClient: DeviceCommandClient; log: Logger }) {
    this.#redis = options.redis;
    this.#commandClient = options.commandClient;
    this.#log = options.log;
  }

  /** Returns what is known without a query; never rejects. */
  async read(imei: string): Promise<TerminalProfile> {
    try {
      return await readTerminalProfile(this.#redis, imei);
    } catch (error) {
      this.#log.warn({ err: error, imei }, 'could not read the profile of a terminal');
      return noProfile;
    }
  }

  /** Returns the audio properties of a terminal, or null when they stay unknown. Concurrent calls share a query. */
  find(imei: string): Promise<TerminalAudio | null> {
    const running = this.#searches.get(imei);
    if (running !== undefined) return running;
    const search = this.#search(imei).finally(() => this.#searches.delete(imei));
    this.#searches.set(imei, search);
    return search;
  }

  async #search(imei: string): Promise<TerminalAudio | null> {
    const { audio } = await this.read(imei);
    if (audio !== null) return audio;
    const queriedAtMs = this.#failedQueriesAtMs.get(imei);
    if (queriedAtMs !== undefined && performance.now() - queriedAtMs < retryIntervalMs) return null;
    const wasDelivered = await this.#query(imei);
    const { audio: reported } = await this.read(imei);
    if (reported !== null) this.#failedQueriesAtMs.delete(imei);
    else if (wasDelivered) this.#suspendQueries(imei);
    return reported;
  }

  #suspendQueries(imei: string): void {
    if (this.#failedQueriesAtMs.size >= maxFailedQueries) this.#failedQueriesAtMs.clear();
    this.#failedQueriesAtMs.set(imei, performance.now());
  }

  /**
   * Queries the terminal, whose response the gateway stores in its profile. Returns false when the query may not have
   * reached it.
   */
  async #query(imei: string): Promise<boolean> {
    const correlationId = randomUUID();
    const outcome = await this.#commandClient.send({
      imei,
      command: { kind: 'queryAvAttributes' },
      correlationId,
      timeoutMs: queryTimeoutMs,
      isClaimed: async (number) => (await readDevice(this.#redis, number)) !== null,
    });
    this.#log.info({ imei, correlationId, outcome: outcome.kind }, 'queried the audio attributes of a terminal');
    return outcome.kind === 'answered' || outcome.kind === 'unreadable' || outcome.kind === 'timedOut';
  }
}
