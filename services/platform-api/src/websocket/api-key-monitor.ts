import type { Logger } from '@fleet/service-kit';
import type { Scope } from '../store/account-repository.ts';

/** The API key of a connection, and its allowed addresses. */
export interface BoundApiKey extends Scope {
  readonly id: number;
  readonly addresses: readonly string[];
}

interface MonitorDeps {
  /** Returns the allowed addresses of a key; null for an invalid one. */
  readonly readAllowedAddresses: (key: BoundApiKey) => Promise<readonly string[] | null>;
  /** Called for a changed key. */
  readonly onChanged: (keyId: number) => void;
  readonly log: Logger;
}

/** Interval at which each key is checked: a change takes effect within five seconds. */
const checkIntervalMs = 2_000;
/** Many keys are checked one after another. */
const batchSize = 50;

/**
 * Detects changes of the API keys of open connections: address changes are not published, and a revocation may be
 * missed.
 */
export class ApiKeyMonitor {
  readonly #deps: MonitorDeps;
  /** Time of each key's last check, oldest first. */
  #checkedAtMs = new Map<number, number>();
  #isChecking = false;

  constructor(deps: MonitorDeps) {
    this.#deps = deps;
  }

  /** Call it each second with the keys of all connections; duplicates are allowed. */
  async checkDue(keys: Iterable<BoundApiKey>): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      await Promise.all(this.#due([...keys]).map((key) => this.#check(key)));
    } finally {
      this.#isChecking = false;
    }
  }

  #due(keys: readonly BoundApiKey[]): BoundApiKey[] {
    const now = performance.now();
    const byId = new Map(keys.map((key) => [key.id, key]));
    // Keys without connections are dropped.
    const checkedAtMs = new Map([...this.#checkedAtMs].filter(([id]) => byId.has(id)));
    for (const id of byId.keys()) if (!checkedAtMs.has(id)) checkedAtMs.set(id, now);
    const due = [...checkedAtMs].filter(([, atMs]) => now - atMs >= checkIntervalMs).slice(0, batchSize);
    for (const [id] of due) {
      checkedAtMs.delete(id);
      checkedAtMs.set(id, now);
    }
    this.#checkedAtMs = checkedAtMs;
    return due.flatMap(([id]) => byId.get(id) ?? []);
  }

  async #check(key: BoundApiKey): Promise<void> {
    try {
      const addresses = await this.#deps.readAllowedAddresses(key);
      if (addresses === null || addresses.join() !== key.addresses.join()) this.#deps.onChanged(key.id);
    } catch (error) {
      // A failed check decides nothing.
      this.#deps.log.debug({ err: error, keyId: key.id }, 'could not check an API key');
    }
  }
}
