import { randomUUID } from 'node:crypto';
import type { DeviceCommandClient } from '@fleet/bus';
import { type AacFormat, defaultAacFormat } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import { type Redis, readDevice, readTerminalProfile, type TerminalProfile } from '@fleet/storage';

/** Viewers wait for the audio during the query. */
const queryTimeoutMs = 3_000;
/** Interval between queries of a terminal that does not respond to 0x9003 with usable attributes. */
const retryIntervalMs = 3_600_000;
const maxFailedQueries = 10_000;

const noProfile: TerminalProfile = { model: null, audio: null };

/** Parses MODEL=rate/channels entries, separated by commas, by model or canonical terminal number. */
export function parseAacFormats(text: string | undefined): ReadonlyMap<string, AacFormat> {
  const formats = new Map<string, AacFormat>();
  for (const entry of text?.split(',') ?? []) {
    const [name = '', format = ''] = entry.split('=');
    const [sampleRate, channels] = format.split('/').map(Number);
    const key = /^\d{12}$|^\d{20}$/.test(name) ? name.replace(/^0+/, '') : name;
    formats.set(key, {
      sampleRate: sampleRate ?? defaultAacFormat.sampleRate,
      channels: channels ?? defaultAacFormat.channels,
    });
  }
  return formats;
}

/** Finds the form of AAC without ADTS: by setting, by an earlier 0x1003, or by querying the terminal (0x9003). */
export class AacFormats {
  readonly #redis: Redis;
  readonly #commandClient: DeviceCommandClient;
  readonly #configured: ReadonlyMap<string, AacFormat>;
  readonly #log: Logger;
  readonly #searches = new Map<string, Promise<AacFormat>>();
  /** Times of the last queries without a usable response. */
  readonly #failedQueriesAtMs = new Map<string, number>();

  constructor(options: {
    redis: Redis;
    commandClient: DeviceCommandClient;
    configured: ReadonlyMap<string, AacFormat>;
    log: Logger;
  }) {
    this.#redis = options.redis;
    this.#commandClient = options.commandClient;
    this.#configured = options.configured;
    this.#log = options.log;
  }

  /** Returns the form of a terminal's AAC, or 8 kHz mono when it is unknown. Concurrent calls share a query. */
  find(imei: string): Promise<AacFormat> {
    const running = this.#searches.get(imei);
    if (running !== undefined) return running;
    const search = this.#search(imei).finally(() => this.#searches.delete(imei));
    this.#searches.set(imei, search);
    return search;
  }

  async #search(imei: string): Promise<AacFormat> {
    const existing = this.#resolveFormat(imei, await this.#readProfile(imei));
    if (existing !== null) return existing;
    const queriedAtMs = this.#failedQueriesAtMs.get(imei);
    if (queriedAtMs !== undefined && performance.now() - queriedAtMs < retryIntervalMs) return defaultAacFormat;
    const wasDelivered = await this.#query(imei);
    const reported = this.#resolveFormat(imei, await this.#readProfile(imei));
    if (reported !== null) {
      this.#failedQueriesAtMs.delete(imei);
      return reported;
    }
    if (wasDelivered) this.#suspendQueries(imei);
    this.#log.info({ imei, ...defaultAacFormat }, 'unknown form of AAC without ADTS: using the default');
    return defaultAacFormat;
  }

  #resolveFormat(imei: string, { model, audio }: TerminalProfile): AacFormat | null {
    const configured = this.#configured.get(imei) ?? (model === null ? undefined : this.#configured.get(model));
    if (configured !== undefined) return configured;
    return audio === null ? null : { sampleRate: audio.sampleRate, channels: Math.min(2, audio.channels) };
  }

  async #readProfile(imei: string): Promise<TerminalProfile> {
    try {
      return await readTerminalProfile(this.#redis, imei);
    } catch (error) {
      this.#log.warn({ err: error, imei }, 'could not read the profile of a terminal');
      return noProfile;
    }
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
