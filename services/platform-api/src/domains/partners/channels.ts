import type { Outcome } from '@fleet/bus';
import { TtlCache } from '@fleet/service-kit';
import type { Config } from '../../assembly/config.ts';
import type { Deps } from '../../platform/deps.ts';
import { miningDeviceByImei } from '../mining-devices/ingestion.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { PartnerDevices } from './devices-store.ts';
import { type PartnerChannel, PartnerHubs, type PartnerRequest } from './partner-hub.ts';
import { commandTokenPurpose } from './rules.ts';
import { partnersIn } from './store.ts';

type Parts = Pick<Deps, 'database' | 'encryption' | 'log' | 'records'> & {
  readonly config: Pick<
    Config,
    'PARTNER_COMMAND_URL' | 'PARTNER_COMMAND_TOKEN' | 'PARTNER_COMMAND_ALLOW_HTTP' | 'PARTNER_COMMAND_ALLOWED_CIDRS'
  >;
};

interface CommandedDevice {
  readonly channel: PartnerChannel;
  readonly shownImei: string;
}

/** Cache TTL. It is short so that changes of a partner take effect soon. */
const keepMs = 3_000;
/** Limit of a lookup. The caller waits for a device, so a slower database counts as "not a partner's device". */
const lookLimitMs = 2_000;

/** A device that has a record. */
export interface RecordedDevice {
  readonly accountId: number;
  readonly recordedImei: string;
}

/** Returns the device of the fleet with a canonical number: the terminal of a vehicle, or a mining device. */
export async function recordedDevice({ records }: Pick<Deps, 'records'>, imei: string): Promise<RecordedDevice | null> {
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
  readonly #parts: Parts;
  readonly #hubs: PartnerHubs;
  readonly #known = new TtlCache<CommandedDevice | null>({ ttlMs: keepMs });

  constructor(parts: Parts) {
    this.#parts = parts;
    this.#devices = new PartnerDevices(parts.database);
    this.#hubs = new PartnerHubs(parts.config);
  }

  /** Records that devices were reported for an account by a partner, or (null) with the account's own headers. */
  async note(accountId: number, partnerId: number | null, imeis: readonly string[]): Promise<void> {
    for (const imei of await this.#devices.note(accountId, partnerId, imeis)) this.#known.delete(imei);
  }

  /** Returns true for a device that a partner's server commands. */
  async has(imei: string): Promise<boolean> {
    return (await this.#lookInTime(imei)) !== null;
  }

  /**
   * Sends a command to a partner's device and returns its outcome; null for a device that no partner's server commands.
   */
  async send(
    imei: string,
    request: Pick<PartnerRequest, 'command' | 'timeoutMs' | 'correlationId'>,
  ): Promise<Outcome | null> {
    const startedAtMs = performance.now();
    const device = await this.#lookInTime(imei);
    if (device === null) return null;
    const timeoutMs = Math.max(1, Math.round(request.timeoutMs - (performance.now() - startedAtMs)));
    return this.#hubs.send({ ...device, ...request, timeoutMs });
  }

  /** Returns those of the devices that a partner's server can command. */
  async reachable(imeis: readonly string[]): Promise<Set<string>> {
    if (imeis.length === 0) return new Set();
    const reached = new Set<string>();
    for (const imei of await this.#devices.among(imeis)) if ((await this.#look(imei)) !== null) reached.add(imei);
    return reached;
  }

  /** Clears the cache. Called after a partner was changed. */
  invalidate(): void {
    this.#known.clear();
  }

  stop(): void {
    this.#hubs.stop();
  }

  async #lookInTime(imei: string): Promise<CommandedDevice | null> {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<null>((resolve) => {
      timer = setTimeout(() => resolve(null), lookLimitMs);
    });
    const looking = this.#look(imei).catch((error: unknown) => {
      this.#parts.log.warn({ err: error }, 'could not look up the partner of a device');
      return null;
    });
    try {
      return await Promise.race([looking, limit]);
    } finally {
      clearTimeout(timer);
    }
  }

  #look(imei: string): Promise<CommandedDevice | null> {
    return this.#known.get(imei, () => this.#find(imei));
  }

  async #find(imei: string): Promise<CommandedDevice | null> {
    const device = await recordedDevice(this.#parts, imei);
    if (device === null) return null;
    const partnerId = await this.#devices.partnerOf(device.accountId, imei);
    if (partnerId === undefined) return null;
    const channel = (partnerId === null ? null : await this.#ownChannel(device, partnerId)) ?? this.#defaultChannel();
    return channel === null ? null : { channel, shownImei: device.recordedImei };
  }

  async #ownChannel({ accountId }: RecordedDevice, partnerId: number): Promise<PartnerChannel | null> {
    const { records, encryption } = this.#parts;
    const partner = await partnersIn(records).find({ accountId }, partnerId);
    const { commandUrl: url, sealedCommandToken: sealed } = partner ?? {};
    if (url === undefined || url === null) return null;
    const isSealed = sealed !== undefined && sealed !== null;
    return { url, token: isSealed ? encryption.open(sealed, commandTokenPurpose(accountId)) : '' };
  }

  #defaultChannel(): PartnerChannel | null {
    const { PARTNER_COMMAND_URL: url, PARTNER_COMMAND_TOKEN: token = '' } = this.#parts.config;
    return url === undefined ? null : { url, token };
  }
}
