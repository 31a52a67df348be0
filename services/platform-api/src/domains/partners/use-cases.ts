import { defaultCommandLevel } from '@fleet/bus';
import {
  AppError,
  isCidr,
  isIpAllowed,
  type Page,
  type Pagination,
  type Sort,
  validationError,
} from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { omitUndefined } from '../../platform/fields.ts';
import type { Scope } from '../../store/account-repository.ts';
import { insertWithinQuota } from '../../store/quota.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { isAccountActive } from '../accounts/account-status.ts';
import { audit } from '../audit/use-cases.ts';
import { authorizeLevelChange, commandLevelOf } from './command-level.ts';
import { commandAddress, partnerGuard } from './partner-client.ts';
import { PartnerDevices } from './partner-devices.ts';
import { commandTokenPurpose, hashToken, newToken } from './rules.ts';
import type { CreatePartnerBody, Partner, UpdatePartnerBody } from './schema.ts';
import { findPartnerByToken, partnerCollection } from './store.ts';

type PartnerDeps = Pick<Deps, 'records' | 'log'>;
type CreatePartnerDeps = PartnerDeps & Pick<Deps, 'config' | 'database' | 'encryption'>;

const maxPartners = 100;

/** Creates a partner and returns its token, which is not returned again. */
export async function createPartner(
  deps: CreatePartnerDeps,
  caller: Caller,
  body: CreatePartnerBody,
): Promise<{ partner: Partner; token: string }> {
  const { name, imei_prefixes: imeiPrefixes = [], ip_allowlist: ipAllowlist = [] } = body;
  assertNetworks(ipAllowlist);
  const { command_level: commandLevel = defaultCommandLevel } = body;
  await authorizeLevelChange(deps, caller, { from: defaultCommandLevel, to: commandLevel }, body.code);
  const channel = await toCommandChannel(deps, caller, body, { commandUrl: null, sealedCommandToken: null });
  const token = newToken();
  const credentials = { tokenSha256: hashToken(token), hint: token.slice(-4) };
  const fields = { name, imeiPrefixes, ipAllowlist, ...credentials, ...channel, commandLevel };
  const partner = await insertWithinQuota(
    deps.database,
    {
      name: `partners of account ${caller.accountId}`,
      limit: maxPartners,
      message: `Partner limit reached: an account may have ${maxPartners} partners.`,
    },
    () => partnerCollection(deps.records).count(caller),
    () => partnerCollection(deps.records).insert(caller, fields),
  );
  await audit(deps, caller, 'partners.create', { type: 'partners', id: partner._id }, { command_level: commandLevel });
  return { partner, token };
}

export async function readPartner({ records }: Pick<Deps, 'records'>, caller: Caller, id: number): Promise<Partner> {
  const partner = await partnerCollection(records).find(caller, id);
  if (partner === null) throw notFound(id);
  return partner;
}

/** Updates a partner. Its own token does not change. */
export async function updatePartner(
  deps: CreatePartnerDeps & Pick<Deps, 'partnerChannels'>,
  caller: Caller,
  id: number,
  body: UpdatePartnerBody,
  expectedVersion?: number,
): Promise<Partner> {
  const before = await readPartner(deps, caller, id);
  const { name, imei_prefixes: imeiPrefixes, ip_allowlist: ipAllowlist, command_level: commandLevel } = body;
  assertNetworks(ipAllowlist ?? []);
  const channel = await toCommandChannel(deps, caller, body, before);
  await authorizeLevelChange(deps, caller, { from: commandLevelOf(before), to: commandLevel }, body.code);
  const change = { ...omitUndefined({ name, imeiPrefixes, ipAllowlist, commandLevel }), ...channel };
  const partner = await partnerCollection(deps.records).update(caller, id, change, expectedVersion);
  if (partner === null) throw notFound(id);
  deps.partnerChannels.invalidate();
  const level = commandLevelOf(partner);
  const detail = level === commandLevelOf(before) ? {} : { command_level: level };
  await audit(deps, caller, 'partners.update', { type: 'partners', id }, detail);
  return partner;
}

const notFound = (id: number): AppError => new AppError('not_found', `There is no partner ${id}.`);

function assertNetworks(networks: readonly string[]): void {
  const wrong = networks.findIndex((network) => !isCidr(network));
  if (wrong >= 0)
    throw validationError([
      { path: `/ip_allowlist/${wrong}`, message: 'must be an IP address or a network in CIDR notation' },
    ]);
}

type Channel = Pick<Partner, 'commandUrl' | 'sealedCommandToken'>;

/**
 * Returns the server that commands the devices: an address that the platform may connect to, and a sealed token. The
 * token of one address is never sent to another.
 */
async function toCommandChannel(
  deps: CreatePartnerDeps,
  { accountId }: Scope,
  { command_url: requestedUrl, command_token: token }: UpdatePartnerBody,
  before: Channel,
): Promise<Channel> {
  const url = requestedUrl === undefined ? (before.commandUrl ?? null) : requestedUrl;
  if (url === null) {
    if (typeof token === 'string') throw validationError([{ path: '/command_token', message: 'requires command_url' }]);
    return { commandUrl: null, sealedCommandToken: null };
  }
  if (url !== before.commandUrl) await assertAddressAllowed(deps, url);
  const keptToken = url === before.commandUrl ? (before.sealedCommandToken ?? null) : null;
  if (token === undefined) return { commandUrl: url, sealedCommandToken: keptToken };
  const sealedCommandToken = token === null ? null : deps.encryption.seal(token, commandTokenPurpose(accountId));
  return { commandUrl: url, sealedCommandToken };
}

async function assertAddressAllowed(deps: Pick<Deps, 'config'>, url: string): Promise<void> {
  if (url.includes('?')) throw validationError([{ path: '/command_url', message: 'must not have a query' }]);
  const verdict = await partnerGuard(deps.config).check(commandAddress(url));
  if (verdict.kind !== 'allowed') throw validationError([{ path: '/command_url', message: verdict.reason }]);
}

export const listPartners = (
  { records }: PartnerDeps,
  scope: Scope,
  options: { readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<Partner>> => partnerCollection(records).list(scope, options);

/** Deletes a partner, which invalidates its token. Returns the deleted partner. */
export async function deletePartner(
  deps: PartnerDeps & Pick<Deps, 'partnerChannels'>,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<Partner> {
  const partner = await partnerCollection(deps.records).remove(caller, id, { expectedVersion });
  if (partner === null) throw notFound(id);
  deps.partnerChannels.invalidate();
  await audit(deps, caller, 'partners.delete', { type: 'partners', id });
  return partner;
}

/** Returns the partner with a token, or null. With `address`, also null if the partner does not allow that address. */
export async function findPartnerWithToken(
  records: RecordStore,
  token: string,
  address?: string,
): Promise<Partner | null> {
  if (token === '' || token.length > 256) return null;
  return findPartnerWithTokenHash(records, hashToken(token), address);
}

/**
 * Returns the same as `findPartnerWithToken`, by the SHA-256 of the token, which is all that leaves device-api. Hashes
 * cannot be guessed, so the time of their comparison reveals nothing.
 */
export async function findPartnerWithTokenHash(
  records: RecordStore,
  tokenSha256: string,
  address?: string,
): Promise<Partner | null> {
  const partner = await findPartnerByToken(records, tokenSha256);
  if (partner === null || !(await isAccountActive(records, partner.accountId))) return null;
  return address === undefined || isIpAllowed(partner.ipAllowlist, address) ? partner : null;
}

/** Deletes which devices partners reported for an account whose personal fields are erased. */
export const deletePartnerDevices = ({ database }: Pick<Deps, 'database'>, { accountId }: Scope): Promise<void> =>
  new PartnerDevices(database).deleteAccount(accountId);
