import type { Outcome } from '@fleet/bus';
import type { Redis } from '@fleet/storage';
import type { RedisBreaker } from './redis-breaker.ts';

/** What another pod has to know of a command whose frame was written here, to match its answer after this pod has died. */
export interface CommandRecord {
  readonly commandId: string;
  readonly messageId: number;
  readonly serials: readonly number[];
  readonly partSerials: readonly number[];
  /** Wall-clock time after which nobody waits any more. */
  readonly deadlineAtMs: number;
}

/** Longer than any caller waits. */
const ttlMs = 150_000;
const commandsKey = (imei: string): string => `device-commands:${imei}`;
const endedKey = (commandId: string): string => `device-command-ended:${commandId}`;
/** A longer outcome (a list of recordings) is not kept: a caller who has to ask for it again waits in vain. */
const maxOutcomeLength = 8_192;

/** What is known of a command that this pod does not have: under way elsewhere, ended (with its outcome where that was kept), or never sent by anybody. */
export type CommandStatus =
  | { readonly state: 'underWay'; readonly record: CommandRecord }
  | { readonly state: 'ended'; readonly outcome: Outcome | null }
  | { readonly state: 'neverSent' };

/**
 * Commands under way, in Redis by terminal: hash `device-commands:<imei>`, field = Command-Id; those that have ended: `device-command-ended:<Command-Id>`.
 * Every call throws StateAwayError while Redis is away.
 */
export class CommandRecords {
  readonly #redis: Redis;
  readonly #breaker: RedisBreaker;

  constructor(redis: Redis, breaker: RedisBreaker) {
    this.#redis = redis;
    this.#breaker = breaker;
  }

  /** To be awaited before the first frame is written; false when another pod has the command, which must then not be sent here. */
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

  /** To be awaited before a further frame of the same command is written. */
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

  /** What became of a command. */
  async readStatus(imei: string, commandId: string): Promise<CommandStatus> {
    const [text, outcomeText] = await this.#breaker.run(() =>
      Promise.all([this.#redis.hGet(commandsKey(imei), commandId), this.#redis.get(endedKey(commandId))]),
    );
    if (outcomeText !== null)
      return { state: 'ended', outcome: outcomeText === '' ? null : (JSON.parse(outcomeText) as Outcome) };
    return text === null ? { state: 'neverSent' } : { state: 'underWay', record: parse(commandId, text) };
  }

  /** All commands of a terminal that somebody may still wait for. */
  async readAll(imei: string): Promise<CommandRecord[]> {
    const fields = await this.#breaker.run(() => this.#redis.hGetAll(commandsKey(imei)));
    const now = Date.now();
    return Object.entries(fields)
      .map(([commandId, text]) => parse(commandId, text))
      .filter((record) => record.deadlineAtMs > now);
  }

  /** Notes that a command has ended, so that a repeated ask finds its outcome and never sends it again. */
  async markEnded(imei: string, commandId: string, outcome: Outcome): Promise<void> {
    const text = JSON.stringify(outcome);
    const storedText = text.length > maxOutcomeLength ? '' : text;
    await this.#breaker.run(() =>
      this.#redis
        .multi()
        .set(endedKey(commandId), storedText, { expiration: { type: 'PX', value: ttlMs } })
        .hDel(commandsKey(imei), commandId)
        .exec(),
    );
  }
}

const parse = (commandId: string, text: string): CommandRecord => ({
  commandId,
  ...(JSON.parse(text) as Omit<CommandRecord, 'commandId'>),
});
