import type { Outcome } from '@fleet/bus';
import { TtlCache } from '@fleet/service-kit';
import type { Config } from '../../assembly/config.ts';
import type { Deps } from '../../platform/deps.ts';
import { miningDeviceByImei } from '../mining-devices/ingestion.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { type PartnerChannel, PartnerClient, type PartnerRequest } from './partner-client.ts';
import { PartnerDevices } from './partner-devices.ts';
import { commandTokenPurpose } from './rules.ts';
import { partnerCollection } from './store.ts';

type ChannelDeps = Pick<Deps, 'database' | 'encryption' | 'log' | 'records'> & {
  readonly config: Pick<
    Config,
    'PARTNER_COMMAND_URL' | 'PARTNER_COMMAND_TOKEN' | 'PARTNER_COMMAND_ALLOW_HTTP' | 'PARTNER_COMMAND_ALLOWED_CIDRS'
  >;
};

interface DeviceChannel {
  readonly channel: PartnerChannel;
  readonly recordedImei: string;
}

/** Cache TTL. It is short so that changes of a partner take effect soon. */
const cacheTtlMs = 3_000;
/** Limit of a lookup. The caller waits for a device, so a slower database counts as "not a partner's device". */
const lookupTimeoutMs = 2_000;

/** A device that has a record. */
interface RecordedDevice {
  readonly accountId: number;
  readonly recordedImei: string;
}

/** Returns the device of the fleet with a canonical number: the terminal of a vehicle, or a mining device. */
export async function findRecordedDevice(
  { records }: Pick<Deps, 'records'>,
  imei: string,
): Promise<RecordedDevice | null> {
  const vehicle = await vehicleByImei(records, imei);
  if (vehicle !== null) return { accountId: vehicle.accountId, recordedImei: vehicle.recordedImei ?? imei };
  const device = await miningDeviceByImei({ records }, imei);
  return device === null ? null : { accountId: device.accountId, recordedImei: device.recordedImei };
}

/**
 * Commands devices that were reported by partners, through the servers of their partners (docs/reference/partners.md).
 */
export class PartnerChannels {
  readonly #devices: PartnerDevices;
  readonly #deps: ChannelDeps;
  readonly #client: PartnerClient;
  readonly #cache = new TtlCache<DeviceChannel | null>({ ttlMs: cacheTtlMs });

  constructor(deps: ChannelDeps) {
    this.#deps = deps;
    this.#devices = new PartnerDevices(deps.database);
    this.#client = new PartnerClient(deps.config);
  }

  /** Records that devices were reported for an account by a partner, or (null) with the account's own headers. */
  async recordDevices(accountId: number, partnerId: number | null, imeis: readonly string[]): Promise<void> {
    for (const imei of await this.#devices.record(accountId, partnerId, imeis)) this.#cache.delete(imei);
  }

  /** Returns true for a device that a partner's server commands. */
  async has(imei: string): Promise<boolean> {
    return (await this.#lookupWithTimeout(imei)) !== null;
  }

  /**
   * Sends a command to a partner's device and returns its outcome; null for a device that no partner's server commands.
   */
  async send(
    imei: string,
    request: Pick<PartnerRequest, 'command' | 'timeoutMs' | 'correlationId'>,
  ): Promise<Outcome | null> {
    const startedAtMs = performance.now();
    const device = await this.#lookupWithTimeout(imei);
    if (device === null) return null;
    const timeoutMs = Math.max(1, Math.round(request.timeoutMs - (performance.now() - startedAtMs)));
    return this.#client.send({ ...device, ...request, timeoutMs });
  }

  /** Returns those of the devices that a partner's server can command. */
  async filterReachable(imeis: readonly string[]): Promise<Set<string>> {
    if (imeis.length === 0) return new Set();
    const reachable = new Set<string>();
    for (const imei of await this.#devices.filterReported(imeis))
      if ((await this.#lookup(imei)) !== null) reachable.add(imei);
    return reachable;
  }

  /** Clears the cache. Called after a partner was changed. */
  invalidate(): void {
    this.#cache.clear();
  }

  stop(): void {
    this.#client.stop();
  }

  async #lookupWithTimeout(imei: string): Promise<DeviceChannel | null> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), lookupTimeoutMs);
    });
    const lookup = this.#lookup(imei).catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'could not look up the partner of a device');
      return null;
    });
    try {
      return await Promise.race([lookup, timeout]);
    } finally {
      clearTimeout(timer);
    }
  }

  #lookup(imei: string): Promise<DeviceChannel | null> {
    return this.#cache.get(imei, () => this.#load(imei));
  }

  async #load(imei: string): Promise<DeviceChannel | null> {
    const device = await findRecordedDevice(this.#deps, imei);
    if (device === null) return null;
    const partnerId = await this.#devices.findPartnerId(device.accountId, imei);
    if (partnerId === undefined) return null;
    const channel =
      (partnerId === null ? null : await this.#findOwnChannel(device, partnerId)) ?? this.#defaultChannel();
    return channel === null ? null : { channel, recordedImei: device.recordedImei };
  }

  async #findOwnChannel({ accountId }: RecordedDevice, partnerId: number): Promise<PartnerChannel | null> {
    const { records, encryption } = this.#deps;
    const partner = await partnerCollection(records).find({ accountId }, partnerId);
    const { commandUrl: url, sealedCommandToken: sealed } = partner ?? {};
    if (url === undefined || url === null) return null;
    const isSealed = sealed !== undefined && sealed !== null;
    return { url, token: isSealed ? encryption.open(sealed, commandTokenPurpose(accountId)) : '' };
  }

  #defaultChannel(): PartnerChannel | null {
    const { PARTNER_COMMAND_URL: url, PARTNER_COMMAND_TOKEN: token = '' } = this.#deps.config;
    return url === undefined ? null : { url, token };
  }
}
