import type { Logger } from '@fleet/service-kit';
import type { Scope } from '../store/account-repository.ts';

/** The API key that a connection hangs on, and the addresses from which it is valid. */
export interface HangingKey extends Scope {
  readonly id: number;
  readonly addresses: readonly string[];
}

interface Parts {
  /** The addresses from which a key is valid now; null for one that is not any more. */
  readonly addressesOf: (key: HangingKey) => Promise<readonly string[] | null>;
  /** Called for a key that is not as it was. */
  readonly onChanged: (keyId: number) => void;
  readonly log: Logger;
}

/** Each key is looked up again so often: what has changed counts within five seconds, on a machine that is busy, too. */
const lookEveryMs = 2_000;
/** Where there are many keys they take turns. */
const keysAtOnce = 50;

/** Finds out by itself what has become of API keys that connections hang on: of a change of their addresses nobody tells, and that one is revoked may not be heard. */
export class KeyWatch {
  readonly #parts: Parts;
  /** When each was looked up, the one that has waited longest first. */
  #lookedMs = new Map<number, number>();
  #isLooking = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** To be called each second with the keys of all connections; a key may be among them more than once. */
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
    // Those that nobody hangs on any more are forgotten.
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
      // That nobody could look is no verdict.
      this.#parts.log.debug({ err: error, keyId: key.id }, 'an API key could not be looked up again');
    }
  }
}
