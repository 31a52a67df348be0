import type { ReactNode } from 'react';
import { useSessionState } from '../session/session-context.ts';

/** Shows its children while there is a user. After a log-out they disappear before the router leaves the page. */
export function SignedIn({ children }: { children: ReactNode }) {
  return useSessionState().kind === 'signedIn' ? children : null;
}
