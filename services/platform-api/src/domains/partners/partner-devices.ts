import { type Collection, type Database, findByIds } from '@fleet/storage';

/** The partner that reported a device, for each account: null if the push had the account's own headers. */
interface PartnerDevice {
  /** Canonical number. */
  readonly _id: string;
  /** Keys are account ids. */
  readonly accounts: Readonly<Record<string, number | null>>;
}

const maxSingleReads = 64;

/** Stores the devices that partners have reported. */
export class PartnerDevices {
  readonly #devices: Collection<PartnerDevice>;

  constructor(database: Database) {
    this.#devices = database.collection<PartnerDevice>('partner_devices');
  }

  /** Records who reported devices and returns those whose record changed. Devices without a change cost one read. */
  async record(accountId: number, partnerId: number | null, imeis: readonly string[]): Promise<string[]> {
    if (imeis.length === 0) return [];
    const known = new Map((await this.#find(imeis)).map(({ _id, accounts }) => [_id, accounts[accountId]]));
    const changed = imeis.filter((imei) => known.get(imei) !== partnerId);
    for (const imei of changed) {
      const change = { $set: { [`accounts.${accountId}`]: partnerId } } as object;
      await this.#devices.updateOne({ _id: imei }, change, { upsert: true });
    }
    return changed;
  }

  /**
   * Returns the partner that reported a device for an account: null for the account's own headers, undefined if it was
   * never reported.
   */
  async findPartnerId(accountId: number, imei: string): Promise<number | null | undefined> {
    return (await this.#devices.findOne({ _id: imei }))?.accounts[accountId];
  }

  /** Deletes the entries of an account. */
  async deleteAccount(accountId: number): Promise<void> {
    const field = `accounts.${accountId}`;
    await this.#devices.updateMany({ [field]: { $exists: true } }, { $unset: { [field]: '' } } as object);
  }

  /** Returns those of the numbers that partners have reported. */
  async filterReported(imeis: readonly string[]): Promise<string[]> {
    return (await this.#find(imeis)).map(({ _id }) => _id);
  }

  /**
   * Reads few numbers one by one, because FerretDB scans the whole collection for a list. The command queue looks up to
   * 10,000 numbers every two seconds, nearly none of them a partner's. One scan of a nearly empty collection is cheaper
   * than that many reads.
   */
  async #find(imeis: readonly string[]): Promise<PartnerDevice[]> {
    if (imeis.length <= maxSingleReads) return await findByIds(this.#devices, imeis);
    return await this.#devices.find({ _id: { $in: [...imeis] } }).toArray();
  }
}
