import type { Collection, Database } from '@fleet/storage';

/** By which partner a device came in: for each account that it was pushed for, the partner, or null where the account's own headers came with the push. */
interface PartnerDevice {
  /** Canonical number. */
  readonly _id: string;
  /** By account id. */
  readonly accounts: Readonly<Record<string, number | null>>;
}

/** Devices that partners have pushed data of. */
export class PartnerDevices {
  readonly #devices: Collection<PartnerDevice>;

  constructor(database: Database) {
    this.#devices = database.collection<PartnerDevice>('partner_devices');
  }

  /** Notes by whom devices came in; what is noted already costs one read. */
  async note(accountId: number, partnerId: number | null, imeis: readonly string[]): Promise<void> {
    if (imeis.length === 0) return;
    const known = new Map((await this.#find(imeis)).map(({ _id, accounts }) => [_id, accounts[accountId]]));
    for (const imei of imeis) {
      if (known.get(imei) === partnerId) continue;
      const change = { $set: { [`accounts.${accountId}`]: partnerId } } as object;
      await this.#devices.updateOne({ _id: imei }, change, { upsert: true });
    }
  }

  /** The partner by which a device came in for an account: null for the account's own headers, undefined where it did not come in so. */
  async partnerOf(accountId: number, imei: string): Promise<number | null | undefined> {
    return (await this.#devices.findOne({ _id: imei }))?.accounts[accountId];
  }

  /** Those of the numbers that came in by partners. */
  async among(imeis: readonly string[]): Promise<string[]> {
    return (await this.#find(imeis)).map(({ _id }) => _id);
  }

  #find(imeis: readonly string[]): Promise<PartnerDevice[]> {
    return this.#devices.find({ _id: { $in: [...imeis] } }).toArray();
  }
}
