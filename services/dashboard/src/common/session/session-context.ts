import { createContext, useContext, useSyncExternalStore } from 'react';
import type { Me, Session, SessionState } from './session.ts';

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

/** Returns a function that says whether the user's role has a permission. The server decides again. */
export function useCan(): (permission: Me['permissions'][number]) => boolean {
  const { permissions } = useMe();
  return (permission) => permissions.includes(permission);
}
