import type { RequestContext } from '@fleet/service-kit';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import type { Scope } from '../store/account-repository.ts';
import type { Role } from './roles.ts';

/** Who makes a request: a user of an account, with an API key of the same account where both headers are asked for. */
export interface Caller extends Scope {
  readonly userId: number;
  readonly role: Role;
  readonly canViewVideo: boolean;
  /** Null for a token that was minted for a server. */
  readonly sessionId: number | null;
  /** The API key that minted the token; null for one of a session. */
  readonly mintedByKeyId: number | null;
  /** The API key of the request; null where the bearer token alone is asked for. */
  readonly keyId: number | null;
  /** Of that key, or of the one that minted the token; all where there is none. */
  readonly scopes: readonly KeyScope[];
  /** The address that the request comes from. */
  readonly ip?: string;
}

const callers = new WeakMap<RequestContext, Caller>();

/** Remembers who makes a request. */
export const setCaller = (context: RequestContext, caller: Caller): void => void callers.set(context, caller);

/** Who makes a request; a route without credentials has no caller and must not ask. */
export function getCaller(context: RequestContext): Caller {
  const caller = callers.get(context);
  if (caller === undefined) throw new Error('this route has no caller: it asks for no credentials');
  return caller;
}

/** Who makes a request, or undefined on routes without credentials. */
export const findCaller = (context: RequestContext): Caller | undefined => callers.get(context);
