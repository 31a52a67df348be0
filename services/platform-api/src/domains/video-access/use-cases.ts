import type { KnownVideoCaller, VideoAccess } from '@fleet/bus';
import { AppError, addressNotAllowedError, isIpAllowed } from '@fleet/service-kit';
import type { Principals } from '../../access/principals.ts';
import { findTokenUser } from '../../access/token-holders.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { getAccountStatus } from '../accounts/account-status.ts';
import type { ApiKey } from '../api-keys/schema.ts';
import { findKeyById } from '../api-keys/use-cases.ts';
import { miningDeviceByImei } from '../mining-devices/ingestion.ts';
import { findLiveLink } from '../share-links/use-cases.ts';
import { vehicleByImei, vehiclesById } from '../vehicles/use-cases.ts';
import { findVisibleByImei } from '../vehicles/visibility.ts';
import { allRights, describeVehicle, guestRights, noVehicle, toVideoRights } from './rules.ts';

/** Dependencies of the checks. They read the database, so that access ends although an event was lost. */
export interface VideoAccessDeps {
  readonly records: RecordStore;
  readonly principals: Principals;
}

/** A caller with the device and the address of the request. */
interface VideoRequest {
  readonly caller: KnownVideoCaller;
  readonly imei?: string | undefined;
  /** Address of the client, for API keys that are restricted to addresses. */
  readonly address?: string | undefined;
}

type CallerOf<Kind extends KnownVideoCaller['kind']> = Extract<KnownVideoCaller, { kind: Kind }>;

/**
 * Returns what a caller may do with a device; without one, it only checks the caller. Throws 401 for a caller who is no
 * longer valid. Throws 403 and 410 for lost access, and 404 for a device that the caller may not see.
 */
export async function authorizeVideo(
  deps: VideoAccessDeps,
  { caller, imei, address }: VideoRequest,
): Promise<VideoAccess> {
  if (caller.kind === 'link') return authorizeGuest(deps, caller);
  if (caller.kind === 'key') return authorizeKey(deps, caller, imei, address);
  return authorizeUser(deps, caller, imei, address);
}

async function authorizeUser(
  { records, principals }: VideoAccessDeps,
  caller: CallerOf<'user'>,
  imei: string | undefined,
  address: string | undefined,
): Promise<VideoAccess> {
  const user = await findTokenUser(records, (claims) => principals.readPrincipal(claims), caller);
  if (user === 'token') throw new AppError('token_invalid', 'The token is no longer valid.');
  if (user === 'suspended') throw suspended();
  if (user.key !== null) assertAddressAllowed(user.key, address);
  const { accountId, role } = user.caller;
  const found = { accountId, role, imei: imei ?? null, expiresAtMs: null };
  if (imei === undefined) return { ...found, ...noVehicle, channels: [], rights: toVideoRights([]) };
  const visible = await findVisibleByImei({ records }, user.caller, imei);
  if (visible === null) throw deviceNotFound();
  return {
    ...found,
    ...describeVehicle(visible.vehicle),
    rights: toVideoRights(visible.permissions),
    expiresAtMs: visible.expiresAt?.getTime() ?? null,
  };
}

// Every key may use a device without an account.
async function authorizeKey(
  { records }: VideoAccessDeps,
  { accountId, keyId }: CallerOf<'key'>,
  imei: string | undefined,
  address: string | undefined,
): Promise<VideoAccess> {
  const key = await findKeyById(records, { accountId }, keyId);
  if (key === null || key.sealedDashboardKey !== null)
    throw new AppError('api_key_invalid', 'The API key is not valid.');
  await assertAccountActive(records, accountId);
  assertAddressAllowed(key, address);
  const found = { accountId, role: null, imei: imei ?? null, rights: allRights, expiresAtMs: null };
  const vehicle = imei === undefined ? null : await vehicleByImei(records, imei);
  if (vehicle !== null && vehicle.accountId !== accountId) throw deviceNotFound();
  if (vehicle !== null) return { ...found, ...describeVehicle(vehicle) };
  // A mining device belongs to its account only.
  const device = imei === undefined ? null : await miningDeviceByImei({ records }, imei);
  if (device !== null && device.accountId !== accountId) throw deviceNotFound();
  return { ...found, ...noVehicle, channels: [] };
}

async function authorizeGuest({ records }: VideoAccessDeps, { linkId }: CallerOf<'link'>): Promise<VideoAccess> {
  const link = await findLiveLink({ records }, linkId);
  const { accountId, vehicleId, expiresAt } = link;
  await assertAccountActive(records, accountId);
  if (!link.permissions.includes('live_video'))
    throw new AppError('permission_denied', 'The link does not include live video.');
  const vehicle = (await vehiclesById(records, link, [vehicleId])).get(vehicleId);
  if (vehicle === undefined) throw new AppError('share_link_revoked', 'The link has been revoked.');
  if (vehicle.imei === null) throw deviceNotFound();
  const found = { accountId, role: null, imei: vehicle.imei, rights: guestRights };
  return { ...found, ...describeVehicle(vehicle), expiresAtMs: expiresAt.getTime() };
}

async function assertAccountActive(records: RecordStore, accountId: number): Promise<void> {
  const status = await getAccountStatus(records, accountId);
  if (status === null) throw new AppError('api_key_invalid', 'The account no longer exists.');
  if (status.isSuspended) throw suspended();
}

function assertAddressAllowed({ ipAllowlist }: ApiKey, address: string | undefined): void {
  if (address !== undefined && !isIpAllowed(ipAllowlist, address)) throw addressNotAllowedError();
}

const suspended = (): AppError => new AppError('account_suspended', 'The account is suspended.');

const deviceNotFound = (): AppError => new AppError('vehicle_not_found', 'There is no such device.');
