import { type Bus, revokeKey as revokeRequest, serve, verifyKey as verifyRequest } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import type { RecordStore } from '../../store/record-store.ts';
import { isAccountActive } from '../accounts/account-status.ts';
import { revokeKey, verifyKey } from './use-cases.ts';

/**
 * Serves `platform-api.verify-key` and `platform-api.revoke-key`. If the store fails, the client gets an error, never
 * "invalid".
 */
export function serveApiKeys(bus: Bus, records: RecordStore, onError: (error: unknown) => void): Running[] {
  const options = { queue: 'platform-api', onError };
  return [
    serve(bus, verifyRequest, options, async ({ keySha256 }) => {
      const key = await verifyKey(records, keySha256);
      // A dashboard key is not valid without a session, and other services do not check sessions.
      if (key === null || key.sealedDashboardKey !== null || !(await isAccountActive(records, key.accountId)))
        return { valid: false as const };
      return {
        valid: true as const,
        keyId: key._id,
        accountId: key.accountId,
        scopes: [...key.scopes],
        ipAllowlist: [...key.ipAllowlist],
      };
    }),
    serve(bus, revokeRequest, options, async ({ keySha256 }) => ({
      revoked: await revokeKey({ records, bus }, keySha256),
    })),
  ];
}
