import type { Redis } from '@fleet/storage';
import type { RedisGate } from './redis-gate.ts';

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
const key = (imei: string): string => `device-commands:${imei}`;

/** Commands under way, in Redis by terminal: hash `device-commands:<imei>`, field = Command-Id. Every call throws StateAwayError while Redis is away. */
export class CommandRecords {
  readonly #redis: Redis;
  readonly #gate: RedisGate;

  constructor(redis: Redis, gate: RedisGate) {
    this.#redis = redis;
    this.#gate = gate;
  }

  /** To be awaited before the frame is written. */
  async save(imei: string, record: CommandRecord): Promise<void> {
    const { commandId, ...rest } = record;
    await this.#gate.run(() =>
      this.#redis.multi().hSet(key(imei), commandId, JSON.stringify(rest)).pExpire(key(imei), ttlMs).exec(),
    );
  }

  /** The record of one command, or null when Redis says that there is none. */
  async read(imei: string, commandId: string): Promise<CommandRecord | null> {
    const text = await this.#gate.run(() => this.#redis.hGet(key(imei), commandId));
    return text === null ? null : parse(commandId, text);
  }

  /** All commands of a terminal that somebody may still wait for. */
  async readAll(imei: string): Promise<CommandRecord[]> {
    const fields = await this.#gate.run(() => this.#redis.hGetAll(key(imei)));
    const now = Date.now();
    return Object.entries(fields)
      .map(([commandId, text]) => parse(commandId, text))
      .filter((record) => record.deadlineAtMs > now);
  }

  async remove(imei: string, commandId: string): Promise<void> {
    await this.#gate.run(() => this.#redis.hDel(key(imei), commandId));
  }
}

const parse = (commandId: string, text: string): CommandRecord => ({
  commandId,
  ...(JSON.parse(text) as Omit<CommandRecord, 'commandId'>),
});
