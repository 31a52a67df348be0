import type { PartnerHeartbeat, PartnerPosition, PartnerReport } from '@fleet/bus';
import { AppError, parseJsonBody, type RequestContext, validationError } from '@fleet/service-kit';
import { findCaller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import {
  ingestedId,
  isMiningDevice,
  keepIngested,
  knownItems,
  registerMiningDevice,
} from '../mining-devices/ingestion.ts';
import { findDevice } from '../vehicles/use-cases.ts';
import { maxItems, type ParsedItem, parseHeartbeat, parsePosition, vendorCodes } from './rules.ts';
import type { PushBody } from './schema.ts';
import type { DeviceReport } from './telemetry.ts';
import { findPartnerWithToken } from './use-cases.ts';

type IngestDeps = Pick<Deps, 'records' | 'database' | 'limits' | 'telemetry' | 'config' | 'log' | 'partnerChannels'>;

/** The sender of a push. */
interface Sender extends Scope {
  /** Null if the push had the account's own headers. */
  readonly partnerId: number | null;
  readonly imeiPrefixes: readonly string[];
}

interface ItemKind<T> {
  readonly name: 'positions' | 'heartbeats';
  readonly read: (item: unknown, nowMs: number) => ParsedItem<T>;
  readonly report: (accountId: number, value: T) => PartnerReport;
  readonly toStored: (value: T) => object;
}

const positions: ItemKind<PartnerPosition> = {
  name: 'positions',
  read: parsePosition,
  report: (accountId, position) => ({ kind: 'position', accountId, position }),
  toStored: ({ temperatureC: _temperature, driver: _driver, timestamp: _timestamp, ...position }) => position,
};
const heartbeats: ItemKind<PartnerHeartbeat> = {
  name: 'heartbeats',
  read: parseHeartbeat,
  report: (accountId, heartbeat) => ({ kind: 'heartbeat', accountId, heartbeat }),
  toStored: ({ values }) => ({ values: JSON.stringify(values) }),
};

export const pushPositions = (deps: IngestDeps, body: PushBody, context: RequestContext) =>
  push(deps, positions, body, context);
export const pushHeartbeats = (deps: IngestDeps, body: PushBody, context: RequestContext) =>
  push(deps, heartbeats, body, context);

/**
 * Processes a push. Each item is accepted, a duplicate or rejected on its own. Accepted items are in JetStream before
 * the response is sent.
 */
async function push<T extends { readonly timestamp: number }>(
  deps: IngestDeps,
  kind: ItemKind<T>,
  body: PushBody,
  context: RequestContext,
) {
  const sender = await authenticateSender(deps, body, context);
  const items = parseItems(body);
  const nowMs = Date.now();
  const rejected: { index: number; reason: string }[] = [];
  const accepted = new Map<string, { imei: string; value: T }>();
  const devices = new KnownDevices(deps, sender);
  let duplicates = 0;
  for (const [index, item] of items.entries()) {
    const parsed = kind.read(item, nowMs);
    const reason = typeof parsed === 'string' ? parsed : await devices.findRejection(parsed.imei, parsed.recordedImei);
    if (typeof parsed === 'string' || reason !== null) {
      rejected.push({ index, reason: reason ?? 'unreadable' });
      continue;
    }
    const id = ingestedId(sender, parsed.imei, new Date(parsed.value.timestamp));
    if (accepted.has(id)) duplicates += 1;
    else accepted.set(id, { imei: parsed.imei, value: parsed.value });
  }
  for (const id of await knownItems(deps, kind.name, [...accepted.keys()])) {
    accepted.delete(id);
    duplicates += 1;
  }
  await store(deps, kind, sender, accepted, nowMs);
  return {
    code: vendorCodes.success,
    message: 'success',
    data: { accepted: accepted.size, duplicates, rejected },
  };
}

/**
 * Publishes to the stream first: an item that is stored before and then lost would count as a duplicate when it is sent
 * again.
 */
async function store<T extends { readonly timestamp: number }>(
  deps: IngestDeps,
  kind: ItemKind<T>,
  { accountId, partnerId }: Sender,
  accepted: ReadonlyMap<string, { imei: string; value: T }>,
  nowMs: number,
): Promise<void> {
  if (accepted.size === 0) return;
  const reports = [...accepted.values()].map(
    ({ imei, value }): DeviceReport => ({ imei, receivedAtMs: nowMs, report: kind.report(accountId, value) }),
  );
  await deps.telemetry.store(reports);
  await deps.partnerChannels.recordDevices(accountId, partnerId, [...new Set(reports.map(({ imei }) => imei))]);
  const stored = [...accepted].map(([_id, { imei, value }]) => ({
    _id,
    accountId,
    imei,
    timestamp: new Date(value.timestamp),
    receivedAt: new Date(nowMs),
    ...kind.toStored(value),
  }));
  await keepIngested(deps, { accountId }, kind.name, stored as never);
}

/** Returns the sender: by the two platform headers, which the guard has checked, or by the token of the body. */
async function authenticateSender(
  { records, limits }: IngestDeps,
  body: PushBody,
  context: RequestContext,
): Promise<Sender> {
  const caller = findCaller(context);
  if (caller !== undefined) {
    await limits.consume('partner', `key:${caller.keyId ?? 0}`, context);
    return { accountId: caller.accountId, partnerId: null, imeiPrefixes: [] };
  }
  const address = context.request.ip ?? '';
  if (body.token === undefined) {
    await limits.consume('platform', `ip:${address}`, context);
    throw new AppError(
      'token_missing',
      'A partner token is required: send `token` in the body, or both platform headers.',
    );
  }
  const partner = await findPartnerWithToken(records, body.token, address);
  if (partner === null) {
    // Guesses count against the address of the caller.
    await limits.consume('platform', `ip:${address}`, context);
    throw new AppError('token_invalid', 'The partner token is invalid.');
  }
  await limits.consume('partner', `partner:${partner._id}`, context);
  return { accountId: partner.accountId, partnerId: partner._id, imeiPrefixes: partner.imeiPrefixes };
}

function parseItems(body: PushBody): readonly unknown[] {
  const path = body.data_list === undefined && body.data !== undefined ? '/data' : '/data_list';
  const value = body.data_list ?? body.data;
  const items: unknown = typeof value === 'string' ? parseJsonBody(Buffer.from(value)) : value;
  if (!Array.isArray(items))
    throw validationError([{ path, message: items === undefined ? 'is missing' : 'must be a list' }]);
  if (items.length > maxItems) throw validationError([{ path, message: `must not have more than ${maxItems} items` }]);
  return items as readonly unknown[];
}

/**
 * The devices that a sender may report: vehicles and mining devices of its account. Each is looked up once per push.
 */
class KnownDevices {
  readonly #deps: Pick<Deps, 'records' | 'config'>;
  readonly #sender: Sender;
  readonly #rejections = new Map<string, string | null>();

  constructor(deps: Pick<Deps, 'records' | 'config'>, sender: Sender) {
    this.#deps = deps;
    this.#sender = sender;
  }

  /**
   * Returns why a device is rejected, or null. A device of another account is unknown, so that numbers cannot be
   * probed.
   */
  async findRejection(imei: string, recordedImei: string): Promise<string | null> {
    const known = this.#rejections.get(imei);
    if (known !== undefined) return known;
    const rejection = (await this.#isKnown(imei, recordedImei)) ? null : 'unknown device';
    this.#rejections.set(imei, rejection);
    return rejection;
  }

  async #isKnown(imei: string, recordedImei: string): Promise<boolean> {
    const { records, config } = this.#deps;
    const { accountId, imeiPrefixes } = this.#sender;
    if (imeiPrefixes.length > 0 && !imeiPrefixes.some((prefix) => recordedImei.startsWith(prefix))) return false;
    if (await isMiningDevice({ records }, this.#sender, imei)) return true;
    const vehicle = await findDevice(records, imei);
    if (vehicle.known) return vehicle.accountId === accountId;
    return config.PARTNER_AUTO_REGISTER && registerMiningDevice({ records }, this.#sender, imei, recordedImei);
  }
}
