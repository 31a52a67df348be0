import type { Outcome } from '@fleet/bus';
import type { Redis } from '@fleet/storage';
import type { RedisBreaker } from './redis-breaker.ts';

/** Data that another pod needs to match the response to a command sent here, after this pod has crashed. */
export interface CommandRecord {
  readonly commandId: string;
  readonly messageId: number;
  readonly serials: readonly number[];
  readonly partSerials: readonly number[];
  /** Wall-clock time after which no caller waits. */
  readonly deadlineAtMs: number;
}

/** Longer than the timeout of any caller. */
const ttlMs = 150_000;
// All keys of one terminal are in one slot of a cluster.
const commandsKey = (imei: string): string => `device-commands:{${imei}}`;
const endedKey = (imei: string, commandId: string): string => `device-command-ended:{${imei}}:${commandId}`;
/** A longer outcome (a list of recordings) is not stored; a retry of such a command times out. */
const maxOutcomeLength = 8_192;

/**
 * Status of a command unknown to this pod: in progress elsewhere, ended (with the outcome if it was stored), or never
 * sent.
 */
export type CommandStatus =
  | { readonly state: 'underWay'; readonly record: CommandRecord }
  | { readonly state: 'ended'; readonly outcome: Outcome | null }
  | { readonly state: 'neverSent' };

/**
 * Stores command records in Redis. Commands in progress by terminal: hash `device-commands:{<imei>}`, field = Command-Id.
 * Ended commands: `device-command-ended:{<imei>}:<Command-Id>`. Every method throws RedisUnavailableError while Redis is
 * unavailable.
 */
export class CommandRecords {
  readonly #redis: Redis;
  readonly #breaker: RedisBreaker;

  constructor(redis: Redis, breaker: RedisBreaker) {
    this.#redis = redis;
    this.#breaker = breaker;
  }

  /**
   * Claims a command; await it before writing the first frame. Returns false when another pod has the command, which
   * must then not be sent here.
   */
  async claim(imei: string, record: CommandRecord): Promise<boolean> {
    const { commandId, ...rest } = record;
    const [isNew] = await this.#breaker.run(() =>
      this.#redis
        .multi()
        .hSetNX(commandsKey(imei), commandId, JSON.stringify(rest))
        .pExpire(commandsKey(imei), ttlMs)
        .exec(),
    );
    return Number(isNew) === 1;
  }

  /** Updates the record of a command; await it before writing a further frame. */
  async save(imei: string, record: CommandRecord): Promise<void> {
    const { commandId, ...rest } = record;
    await this.#breaker.run(() =>
      this.#redis
        .multi()
        .hSet(commandsKey(imei), commandId, JSON.stringify(rest))
        .pExpire(commandsKey(imei), ttlMs)
        .exec(),
    );
  }

  /** Returns the status of a command. */
  async readStatus(imei: string, commandId: string): Promise<CommandStatus> {
    const [text, outcomeText] = await this.#breaker.run(() =>
      Promise.all([this.#redis.hGet(commandsKey(imei), commandId), this.#redis.get(endedKey(imei, commandId))]),
    );
    if (outcomeText !== null)
      return { state: 'ended', outcome: outcomeText === '' ? null : (JSON.parse(outcomeText) as Outcome) };
    return text === null ? { state: 'neverSent' } : { state: 'underWay', record: parse(commandId, text) };
  }

  /** Returns all commands of a terminal for which a caller may still wait. */
  async readAll(imei: string): Promise<CommandRecord[]> {
    const fields = await this.#breaker.run(() => this.#redis.hGetAll(commandsKey(imei)));
    const now = Date.now();
    return Object.entries(fields)
      .map(([commandId, text]) => parse(commandId, text))
      .filter((record) => record.deadlineAtMs > now);
  }

  /** Records the outcome of a command, so that a retry returns it and never sends the command again. */
  async markEnded(imei: string, commandId: string, outcome: Outcome): Promise<void> {
    const text = JSON.stringify(outcome);
    const storedText = text.length > maxOutcomeLength ? '' : text;
    await this.#breaker.run(() =>
      this.#redis
        .multi()
        .set(endedKey(imei, commandId), storedText, { expiration: { type: 'PX', value: ttlMs } })
        .hDel(commandsKey(imei), commandId)
        .exec(),
    );
  }
}

const parse = (commandId: string, text: string): CommandRecord => ({
  commandId,
  ...(JSON.parse(text) as Omit<CommandRecord, 'commandId'>),
});
