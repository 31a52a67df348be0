import type { RecordStore } from '../../store/record-store.ts';
import { languageOf } from '../preferences/use-cases.ts';

/** Notifications are written in the owning user's language. A change takes effect after this time. */
const maxAgeMs = 30_000;
const maxKept = 10_000;

/** Cache of the languages of owning users, which are read often and change seldom. */
export class Languages {
  readonly #records: RecordStore;
  readonly #kept = new Map<number, { readonly language: string; readonly readAtMs: number }>();

  constructor(records: RecordStore) {
    this.#records = records;
  }

  /** Returns the languages by user id. */
  async of(
    vehicles: readonly { readonly accountId: number; readonly ownerUserId: number }[],
  ): Promise<ReadonlyMap<number, string>> {
    const owners = new Map(vehicles.map(({ accountId, ownerUserId }) => [ownerUserId, { accountId }]));
    const read = async (userId: number, scope: { accountId: number }): Promise<readonly [number, string]> => {
      const kept = this.#kept.get(userId);
      if (kept !== undefined && performance.now() - kept.readAtMs < maxAgeMs) return [userId, kept.language];
      const language = await languageOf({ records: this.#records }, { ...scope, userId });
      if (this.#kept.size >= maxKept) this.#kept.clear();
      this.#kept.set(userId, { language, readAtMs: performance.now() });
      return [userId, language];
    };
    return new Map(await Promise.all([...owners].map(([userId, scope]) => read(userId, scope))));
  }
}
