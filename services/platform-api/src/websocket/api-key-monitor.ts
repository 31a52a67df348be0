import type { Logger } from '@fleet/service-kit';
import type { Scope } from '../store/account-repository.ts';

/** The API key of a connection, and its allowed addresses. */
export interface HangingKey extends Scope {
  readonly id: number;
  readonly addresses: readonly string[];
}

interface Parts {
  /** Returns the allowed addresses of a key; null for an invalid one. */
  readonly addressesOf: (key: HangingKey) => Promise<readonly string[] | null>;
  /** Called for a changed key. */
  readonly onChanged: (keyId: number) => void;
  readonly log: Logger;
}

/** Interval at which each key is checked: a change takes effect within five seconds. */
const lookEveryMs = 2_000;
/** Many keys are checked one after another. */
const keysAtOnce = 50;

/**
 * Detects changes of the API keys of open connections: address changes are not published, and a revocation may be
 * missed.
 */
export class ApiKeyMonitor {
  readonly #parts: Parts;
  /** Time of each key's last check, oldest first. */
  #lookedMs = new Map<number, number>();
  #isLooking = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Call it each second with the keys of all connections; duplicates are allowed. */
  async look(keys: Iterable<HangingKey>): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await Promise.all(this.#due([...keys]).map((key) => this.#lookAt(key)));
    } finally {
      this.#isLooking = false;
    }
  }

  #due(keys: readonly HangingKey[]): HangingKey[] {
    const now = performance.now();
    const byId = new Map(keys.map((key) => [key.id, key]));
    // Keys without connections are dropped.
    const lookedMs = new Map([...this.#lookedMs].filter(([id]) => byId.has(id)));
    for (const id of byId.keys()) if (!lookedMs.has(id)) lookedMs.set(id, now);
    const due = [...lookedMs].filter(([, atMs]) => now - atMs >= lookEveryMs).slice(0, keysAtOnce);
    for (const [id] of due) {
      lookedMs.delete(id);
      lookedMs.set(id, now);
    }
    this.#lookedMs = lookedMs;
    return due.flatMap(([id]) => byId.get(id) ?? []);
  }

  async #lookAt(key: HangingKey): Promise<void> {
    try {
      const addresses = await this.#parts.addressesOf(key);
      if (addresses === null || addresses.join() !== key.addresses.join()) this.#parts.onChanged(key.id);
    } catch (error) {
      // A failed check decides nothing.
      this.#parts.log.debug({ err: error, keyId: key.id }, 'could not check an API key');
    }
  }
}
