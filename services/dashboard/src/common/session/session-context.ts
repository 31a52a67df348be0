import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Customer, Me, Session, SessionState } from './session.ts';

/** Permissions that a dealer keeps in the account of a customer. */
const readOnlyPermissions: readonly Me['permissions'][number][] = ['self', 'read', 'accounts'];

export const SessionContext = createContext<Session | null>(null);

/** Returns the session. Throws outside a SessionContext. */
export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error('There is no SessionContext above this component.');
  return session;
}

export function useSessionState(): SessionState {
  const session = useSession();
  return useSyncExternalStore(session.subscribe, () => session.state);
}

/** Returns the user. Throws without a user: pages are rendered only for users. */
export function useMe(): Me {
  const state = useSessionState();
  if (state.kind !== 'signedIn') throw new Error('The session has no user.');
  return state.me;
}

/** Returns the customer whose account the page shows; null for the own account. */
export function useCustomer(): Customer | null {
  const state = useSessionState();
  return state.kind === 'signedIn' ? state.customer : null;
}

/**
 * Returns a function that says whether the user's role has a permission. The server decides again. Dealers only read in
 * the accounts of their customers.
 */
export function useCan(): (permission: Me['permissions'][number]) => boolean {
  const { permissions, role } = useMe();
  const isReadOnly = useCustomer() !== null && role === 'dealer';
  return (permission) => permissions.includes(permission) && (!isReadOnly || readOnlyPermissions.includes(permission));
}
