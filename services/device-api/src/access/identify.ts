import { type Bus, callUseCase, verifySession } from '@fleet/bus';
import {
  AppError,
  addressNotAllowedError,
  isIpAllowed,
  type RequestContext,
  type Route,
  type VideoCaller,
} from '@fleet/service-kit';
import type { StreamGrant, StreamTokens } from '@fleet/service-kit/stream-tokens';
import type { Config } from '../config.ts';
import { mapBusError } from './bus-errors.ts';
import { isGuestRoute } from './guests.ts';
import { hashKey, type KeyCache } from './key-cache.ts';

const sessionTimeoutMs = 3_000;
const maxKeyLength = 256;
/** Longest token, as in the schema of the parameter. */
export const maxTokenLength = 4096;

/** Caller of a request, and what the credential permits. */
export interface Identity {
  readonly caller: VideoCaller;
  /** Scopes of the API key; null for a stream token, which names its stream instead. */
  readonly scopes: readonly string[] | null;
  /** Stream that a token opens. */
  readonly grant?: StreamGrant;
  /** Slug of the share link of a guest. */
  readonly slug?: string;
  /** SHA-256 of the token. */
  readonly tokenSha256?: string;
  /** True if the token has expired: only a reader of HLS that has begun may continue. */
  readonly isExpired?: boolean;
}

/** Credentials that a service accepts besides an API key. */
export interface AcceptedCredentials {
  /** True if people may call with the two headers of the Platform API. */
  readonly acceptsSessions: boolean;
}

export interface IdentifierDeps {
  readonly bus: Bus;
  readonly config: Pick<Config, 'DEVICE_API_AUTH'>;
  readonly keys: Pick<KeyCache, 'get'>;
  readonly streamTokens: Pick<StreamTokens, 'verify' | 'verifyForLink'>;
}

/**
 * Returns the caller of a request; undefined if no credential is required. A stream token, and the headers of a person,
 * are checked even then, so that a deployment without keys behaves the same for them. Throws 401 or 403.
 */
export async function identify(
  deps: IdentifierDeps,
  route: Route,
  context: RequestContext,
  { acceptsSessions }: AcceptedCredentials,
): Promise<Identity | undefined> {
  const { request } = context;
  const isOpen = deps.config.DEVICE_API_AUTH === 'off';
  const isHls = route.bucket === 'hls';
  if (isGuestRoute(route)) return identifyGuest(deps, request.query['token'], isHls);
  const token = isHls || route.bucket === 'stream' ? request.query['token'] : undefined;
  if (token !== undefined) return identifyToken(deps, token, { isOpen, acceptsExpired: isHls });
  const authorization = acceptsSessions ? request.get('authorization') : undefined;
  if (authorization !== undefined) return identifySession(deps, route, context, authorization);
  return isOpen ? undefined : identifyKey(deps, route, context);
}

async function identifyToken(
  { streamTokens }: IdentifierDeps,
  token: unknown,
  { isOpen, acceptsExpired }: { readonly isOpen: boolean; readonly acceptsExpired: boolean },
): Promise<Identity | undefined> {
  // A fault of the parameter is 400 where no credential is required.
  if (isOpen && (typeof token !== 'string' || token.length > maxTokenLength)) return undefined;
  const text = typeof token === 'string' ? token : '';
  const { value: grant, isExpired } = await verify((options) => streamTokens.verify(text, options), acceptsExpired);
  if (grant.caller.kind === 'anonymous' && !isOpen) throw new AppError('token_invalid', 'The token is not valid.');
  return { caller: grant.caller, scopes: null, grant, tokenSha256: hashKey(text), isExpired };
}

/** Guests have no other credential, whether or not keys are required. */
async function identifyGuest(
  { streamTokens }: IdentifierDeps,
  token: unknown,
  acceptsExpired: boolean,
): Promise<Identity> {
  if (typeof token !== 'string') throw new AppError('token_missing', 'The token of the share link is required.');
  const { value, isExpired } = await verify((options) => streamTokens.verifyForLink(token, options), acceptsExpired);
  const { linkId, slug } = value;
  return { caller: { kind: 'link', linkId }, scopes: null, slug, tokenSha256: hashKey(token), isExpired };
}

async function verify<T>(
  verifyToken: (options: { readonly acceptsExpired: boolean }) => Promise<T>,
  acceptsExpired: boolean,
): Promise<{ readonly value: T; readonly isExpired: boolean }> {
  try {
    return { value: await verifyToken({ acceptsExpired: false }), isExpired: false };
  } catch (error) {
    if (!acceptsExpired || !(error instanceof AppError) || error.code !== 'token_expired') throw error;
    return { value: await verifyToken({ acceptsExpired }), isExpired: true };
  }
}

// Only the key's SHA-256 leaves this process.
async function identifySession(
  { bus }: IdentifierDeps,
  route: Route,
  { request, requestId }: RequestContext,
  authorization: string,
): Promise<Identity> {
  const keySha256 = hashKey(readKey(request.get('x-api-key')));
  const headers = {
    origin: request.get('origin'),
    referer: request.get('referer'),
    fetchSite: request.get('sec-fetch-site'),
    actedAccountId: request.get('x-account-id'),
  };
  const given = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
  const credentials = { keySha256, authorization, address: request.ip ?? '', ...given };
  const options = { timeoutMs: sessionTimeoutMs, correlationId: requestId };
  return mapBusError(route, callUseCase(bus, verifySession, credentials, options));
}

async function identifyKey({ keys }: IdentifierDeps, route: Route, context: RequestContext): Promise<Identity> {
  const { request, requestId } = context;
  const key = readKey(request.get('x-api-key'));
  const owner = await mapBusError(route, keys.get(key, requestId));
  if (owner === null) throw invalidKey();
  if (!isIpAllowed(owner.ipAllowlist, request.ip ?? '')) throw addressNotAllowedError();
  const { accountId, keyId, scopes } = owner;
  return { caller: { kind: 'key', accountId, keyId }, scopes };
}

const invalidKey = (): AppError => new AppError('api_key_invalid', 'The API key is not valid.');

function readKey(key: string | undefined): string {
  if (key === undefined || key === '') throw new AppError('api_key_missing', 'The header x-api-key is required.');
  if (key.length > maxKeyLength) throw invalidKey();
  return key;
}
