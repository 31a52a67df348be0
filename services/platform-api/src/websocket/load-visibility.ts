import type { Principals } from '../access/principals.ts';
import { findTokenUser, type Refusal, type TokenUser } from '../access/token-holders.ts';
import type { TokenHolder } from '../domains/last-positions/websocket-tokens.ts';
import { notificationChoices } from '../domains/notifications/preferences.ts';
import { sharedVehicles } from '../domains/vehicle-shares/use-cases.ts';
import { accessTo, type Viewer, visibleVehicleIds } from '../domains/vehicles/visibility.ts';
import type { Deps } from '../platform/deps.ts';
import type { BoundApiKey } from './api-key-monitor.ts';
import type { VisibilitySnapshot } from './visibility-snapshot.ts';

/** Dependencies of a read. */
export type LoadDeps = Pick<Deps, 'records'> & { readonly principals: Principals };

export const isRefusal = (loaded: VisibilitySnapshot | Refusal): loaded is Refusal => typeof loaded === 'string';

/** Reads what the holder of a token may see now. */
export async function loadVisibility(deps: LoadDeps, holder: TokenHolder): Promise<VisibilitySnapshot | Refusal> {
  const { records, principals } = deps;
  const found = await findTokenUser(records, (claims) => principals.findPrincipal(claims), holder);
  return typeof found === 'string' ? found : loadSnapshot(deps, found.caller, toBoundKey(found));
}

// A dashboard key is valid everywhere, and permanently.
const toBoundKey = ({ key, homeAccountId }: TokenUser): BoundApiKey | null =>
  key === null || key.sealedDashboardKey !== null
    ? null
    : { accountId: homeAccountId, id: key._id, addresses: key.ipAllowlist };

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
