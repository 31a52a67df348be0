import { type Bus, type SessionCredentials, serveUseCase, verifySession } from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import { actInAccount } from './acted-account.ts';
import { Authenticator, type AuthenticatorDeps, type PresentedCredentials } from './authenticator.ts';
import type { Caller } from './caller.ts';

/** Serves `platform-api.verify-session`: people who call the video service with both headers. */
export function serveSessions(bus: Bus, deps: AuthenticatorDeps, onError: (error: unknown) => void): Running {
  const authenticator = new Authenticator(deps);
  return serveUseCase(bus, verifySession, { queue: 'platform-api', onError }, async (credentials) => {
    const caller = await authenticator.identify('both', toPresented(credentials));
    const { actedAccountId } = credentials;
    const acting = actedAccountId === undefined ? caller : await actAsStaff(deps, caller, actedAccountId);
    const { accountId, userId, sessionId, mintedByKeyId, keyId, scopes } = acting;
    return {
      caller: { kind: 'user' as const, accountId, userId, sessionId, mintedByKeyId, keyId },
      scopes: [...scopes],
    };
  });
}

function toPresented({ keySha256, authorization, address, ...page }: SessionCredentials): PresentedCredentials {
  const headers = new Headers();
  if (page.origin !== undefined) headers.set('origin', page.origin);
  if (page.referer !== undefined) headers.set('referer', page.referer);
  if (page.fetchSite !== undefined) headers.set('sec-fetch-site', page.fetchSite);
  return { keySha256, authorization, ip: address, getHeader: (name) => headers.get(name) ?? undefined };
}

/** Dealers have read-only access to the accounts of their customers, which does not include video. */
async function actAsStaff(deps: AuthenticatorDeps, caller: Caller, accountId: string): Promise<Caller> {
  const acting = await actInAccount(deps.records, caller, accountId);
  if (caller.role === 'dealer')
    throw new AppError('permission_denied', "Dealers have no access to their customers' video.");
  return acting;
}
