import type { RequestContext } from '@fleet/service-kit';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import type { Scope } from '../store/account-repository.ts';
import type { Role } from './roles.ts';

/**
 * The caller of a request: a user of an account, with an API key of the same account if the route requires both
 * headers.
 */
export interface Caller extends Scope {
  readonly userId: number;
  readonly role: Role;
  readonly canViewVideo: boolean;
  /** Null for a token that was minted for a server. */
  readonly sessionId: number | null;
  /** The API key that minted the token; null for a session's token. */
  readonly mintedByKeyId: number | null;
  /** The API key of the request; null if the route requires the bearer token only. */
  readonly keyId: number | null;
  /** True for a request with the dashboard key, which all users of an account share. */
  readonly isDashboard?: boolean;
  /** Scopes of that key, or of the key that minted the token; all scopes without a key. */
  readonly scopes: readonly KeyScope[];
  /** IP address of the request. */
  readonly ip?: string;
}

const callers = new WeakMap<RequestContext, Caller>();

/** Stores the caller of a request. */
export const setCaller = (context: RequestContext, caller: Caller): void => void callers.set(context, caller);

/** Returns the caller of a request. Throws on routes without credentials, which have no caller. */
export function getCaller(context: RequestContext): Caller {
  const caller = callers.get(context);
  if (caller === undefined) throw new Error('this route requires no credentials and has no caller');
  return caller;
}

/** Returns the caller of a request, or undefined on routes without credentials. */
export const findCaller = (context: RequestContext): Caller | undefined => callers.get(context);
