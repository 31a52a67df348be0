import { TtlCache } from '@fleet/service-kit';
import type { RecordStore } from '../../store/record-store.ts';
import { languageOf } from '../preferences/use-cases.ts';

/** Notifications are written in the owning user's language. A change takes effect after this time. */
const cacheTtlMs = 30_000;

/** Caches the languages of owning users, which are read often and change seldom. */
export class LanguageCache {
  readonly #records: RecordStore;
  readonly #byUser = new TtlCache<string, number>({ ttlMs: cacheTtlMs });

  constructor(records: RecordStore) {
    this.#records = records;
  }

  /** Returns the languages by user id. */
  async of(
    vehicles: readonly { readonly accountId: number; readonly ownerUserId: number }[],
  ): Promise<ReadonlyMap<number, string>> {
    const owners = new Map(vehicles.map(({ accountId, ownerUserId }) => [ownerUserId, { accountId }]));
    const read = async (userId: number, scope: { accountId: number }): Promise<readonly [number, string]> => {
      const load = (): Promise<string> => languageOf({ records: this.#records }, { ...scope, userId });
      return [userId, await this.#byUser.get(userId, load)];
    };
    return new Map(await Promise.all([...owners].map(([userId, scope]) => read(userId, scope))));
  }
}
