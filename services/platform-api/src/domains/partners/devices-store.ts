import { type Collection, type Database, findByIds } from '@fleet/storage';

/** By which partner a device came in: for each account that it was pushed for, the partner, or null where the account's own headers came with the push. */
interface PartnerDevice {
  /** Canonical number. */
  readonly _id: string;
  /** By account id. */
  readonly accounts: Readonly<Record<string, number | null>>;
}

const fewDevices = 64;

/** Devices that partners have pushed data of. */
export class PartnerDevices {
  readonly #devices: Collection<PartnerDevice>;

  constructor(database: Database) {
    this.#devices = database.collection<PartnerDevice>('partner_devices');
  }

  /** Notes by whom devices came in, and answers those of which it was not noted: the others cost one read. */
  async note(accountId: number, partnerId: number | null, imeis: readonly string[]): Promise<string[]> {
    if (imeis.length === 0) return [];
    const known = new Map((await this.#find(imeis)).map(({ _id, accounts }) => [_id, accounts[accountId]]));
    const changed = imeis.filter((imei) => known.get(imei) !== partnerId);
    for (const imei of changed) {
      const change = { $set: { [`accounts.${accountId}`]: partnerId } } as object;
      await this.#devices.updateOne({ _id: imei }, change, { upsert: true });
    }
    return changed;
  }

  /** The partner by which a device came in for an account: null for the account's own headers, undefined where it did not come in so. */
  async partnerOf(accountId: number, imei: string): Promise<number | null | undefined> {
    return (await this.#devices.findOne({ _id: imei }))?.accounts[accountId];
  }

  /** Forgets an account. */
  async forget(accountId: number): Promise<void> {
    const field = `accounts.${accountId}`;
    await this.#devices.updateMany({ [field]: { $exists: true } }, { $unset: { [field]: '' } } as object);
  }

  /** Those of the numbers that came in by partners. */
  async among(imeis: readonly string[]): Promise<string[]> {
    return (await this.#find(imeis)).map(({ _id }) => _id);
  }

  /**
   * Few are looked up one by one, as FerretDB reads the whole collection for a list. The command queue asks for up to 10,000 numbers every two seconds, nearly none of them
   * a partner's: one reading of a collection that is mostly empty is less than all those questions.
   */
  async #find(imeis: readonly string[]): Promise<PartnerDevice[]> {
    if (imeis.length <= fewDevices) return await findByIds(this.#devices, imeis);
    return await this.#devices.find({ _id: { $in: [...imeis] } }).toArray();
  }
}
