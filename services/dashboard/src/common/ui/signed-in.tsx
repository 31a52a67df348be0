import { Fragment, type ReactNode } from 'react';
import { useCustomer, useSessionState } from '../session/session-context.ts';

/**
 * Shows its children while there is a user. After a log-out they disappear before the router leaves the page. Another
 * account has children of its own, so that nothing of one account remains visible in another.
 */
export function SignedIn({ children }: { children: ReactNode }) {
  const customer = useCustomer();
  return useSessionState().kind === 'signedIn' ? <Fragment key={customer?.id ?? 'own'}>{children}</Fragment> : null;
}
