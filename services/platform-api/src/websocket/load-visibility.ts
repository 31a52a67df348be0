import type { Principals } from '../access/principals.ts';
import { findKeyById } from '../domains/api-keys/use-cases.ts';
import type { TokenHolder } from '../domains/last-positions/websocket-tokens.ts';
import { notificationChoices } from '../domains/notifications/preferences.ts';
import { findAnywhere } from '../domains/users/use-cases.ts';
import { sharedVehicles } from '../domains/vehicle-shares/use-cases.ts';
import { accessTo, type Viewer, visibleVehicleIds } from '../domains/vehicles/visibility.ts';
import type { Deps } from '../platform/deps.ts';
import type { BoundApiKey } from './api-key-monitor.ts';
import type { VisibilitySnapshot } from './visibility-snapshot.ts';

/** Dependencies of a read. */
export type LoadDeps = Pick<Deps, 'records'> & { readonly principals: Principals };

/** Reason of a rejected user. */
export type Refusal = 'token' | 'suspended';

export const isRefusal = (loaded: VisibilitySnapshot | Refusal): loaded is Refusal => typeof loaded === 'string';

/** Reads what the holder of a token may see now. */
export async function loadVisibility(deps: LoadDeps, holder: TokenHolder): Promise<VisibilitySnapshot | Refusal> {
  const { accountId, userId, sessionId, mintedByKeyId } = holder;
  const homeAccountId = (await findAnywhere(deps.records, userId))?.accountId;
  if (homeAccountId === undefined) return 'token';
  const key = await findBoundKey(deps, holder, homeAccountId);
  if (key === undefined) return 'token';
  const principal = await deps.principals.findPrincipal({
    accountId: homeAccountId,
    userId,
    sessionId,
    mintedByKeyId,
    role: 'viewer',
  });
  if (principal === null) return 'token';
  if (principal.isSuspended) return 'suspended';
  const { role, canViewVideo } = principal.user;
  // Only staff of the operator may act in other accounts.
  if (homeAccountId !== accountId && role !== 'superadmin') return 'token';
  return loadSnapshot(deps, { accountId, userId, role, canViewVideo }, key);
}

/**
 * Returns the key on which a token depends, null without any that can change. Returns undefined for an invalid key: as
 * with requests, the token of a key is valid only where and while that key is.
 */
async function findBoundKey(
  { records }: LoadDeps,
  { keyId, sessionId, mintedByKeyId }: TokenHolder,
  homeAccountId: number,
): Promise<BoundApiKey | null | undefined> {
  const boundKeyId = keyId ?? (sessionId === null ? mintedByKeyId : null);
  if (boundKeyId === null) return null;
  const key = await findKeyById(records, { accountId: homeAccountId }, boundKeyId);
  if (key === null) return undefined;
  // A dashboard key is valid everywhere, and permanently.
  if (key.sealedDashboardKey !== null) return null;
  return { accountId: homeAccountId, id: key._id, addresses: key.ipAllowlist };
}

async function loadSnapshot(
  { records }: LoadDeps,
  caller: Viewer,
  key: BoundApiKey | null,
): Promise<VisibilitySnapshot> {
  const { accountId, userId, role } = caller;
  const [shared, wants, ids] = await Promise.all([
    sharedVehicles({ records }, caller),
    notificationChoices({ records }, userId),
    role === 'driver' ? visibleVehicleIds({ records }, caller) : null,
  ]);
  const shares = new Map(shared.map((share) => [share.vehicleId, share]));
  const { permissions } = accessTo({ accountId, ownerUserId: userId }, caller, undefined);
  return {
    caller,
    own: { audience: role === 'driver' ? 'driver' : 'own', permissions },
    ownIds: ids && new Set(ids.filter((id) => !shares.has(id))),
    shares,
    wants,
    key,
  };
}
