import { createHash, createHmac, hkdfSync } from 'node:crypto';
import { Ajv } from 'ajv';
import { EncryptJWT, errors, type JWTPayload, jwtDecrypt, jwtVerify } from 'jose';
import { type Static, Type } from 'typebox';
import { AppError } from '../http/errors.ts';
import { lazyCheck, type SchemaCheck } from '../runtime/lazy-check.ts';
import { splitSecrets } from './secret-list.ts';
import { readSubject, type VideoCaller, writeSubject } from './video-caller.ts';

/** Kinds of streams that a token opens. */
const streamKinds = ['live', 'history', 'talk'] as const;

/** One of `streamKinds`. */
export type StreamTokenKind = (typeof streamKinds)[number];

/** Stream that a token opens. */
interface TokenStream {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly channel: number;
  readonly kind: StreamTokenKind;
}

/** Content of a stream token: the stream, and the caller on whose access it depends. */
export interface StreamGrant extends TokenStream {
  readonly caller: Exclude<VideoCaller, { kind: 'link' }>;
  /** True if the caller chose the main stream of live video. */
  readonly isMainStream?: boolean;
}

/** Content of a guest's token: the share link alone, so that it reveals no terminal number. */
interface LinkGrant {
  readonly linkId: number;
  readonly slug: string;
}

/** A token and the time until which it opens streams. An open stream outlives it. */
interface IssuedToken {
  readonly token: string;
  readonly expiresAt: Date;
}

const audience = 'stream';
const linkAudience = 'link-stream';
const clockToleranceSeconds = 5;
const toTolerance = (acceptsExpired: boolean): number =>
  acceptsExpired ? Number.MAX_SAFE_INTEGER : clockToleranceSeconds;
/** A longer text is no token. */
const maxTokenLength = 4096;

const id = Type.Integer({ minimum: 1 });
const streamClaims = Type.Object({
  imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
  ch: Type.Integer({ minimum: 0, maximum: 255 }),
  kind: Type.Unsafe<StreamTokenKind>({ type: 'string', enum: [...streamKinds] }),
  sub: Type.String({ maxLength: 64 }),
  acc: Type.Optional(id),
  sid: Type.Optional(id),
  key: Type.Optional(id),
  mint: Type.Optional(id),
  main: Type.Optional(Type.Boolean()),
});
const linkClaims = Type.Object({ link: id, slug: Type.String({ minLength: 1, maxLength: 64 }) });

const ajv = new Ajv({ strict: false });
const areStreamClaims = lazyCheck(ajv, streamClaims);
const areLinkClaims = lazyCheck(ajv, linkClaims);

interface VerifyOptions {
  readonly acceptsExpired?: boolean;
}

interface Key {
  readonly id: string;
  readonly signing: Uint8Array;
  readonly encryption: Uint8Array;
}

/**
 * Issues and verifies the tokens with which players open streams (docs/reference/video.md): JWTs with HS256, encrypted
 * ones for guests of share links. The setting may hold several secrets, separated by commas: the first signs, all
 * verify, so that secrets can be rotated.
 */
export class StreamTokens {
  readonly #keys: readonly [Key, ...Key[]];
  readonly #lifetimeSeconds: number;

  constructor({ secrets, lifetimeSeconds }: { readonly secrets: string; readonly lifetimeSeconds: number }) {
    const [first, ...others] = splitSecrets(secrets).map(deriveKey);
    if (first === undefined) throw new Error('STREAM_TOKEN_SECRET contains no secret');
    this.#keys = [first, ...others];
    this.#lifetimeSeconds = lifetimeSeconds;
  }

  /** Issues a token that opens one stream. Synchronous, for websocket events that name a URL for each receiver. */
  issue({ imei, channel, kind, caller, isMainStream = false }: StreamGrant, now = new Date()): IssuedToken {
    const [key] = this.#keys;
    const { issuedAt, expiresAt } = this.#lifetime(now);
    const claims = { imei, ch: channel, kind, ...writeSubject(caller), ...(isMainStream ? { main: true } : {}) };
    const times = { aud: audience, iat: issuedAt, exp: Math.floor(expiresAt.getTime() / 1000) };
    return { token: signToken({ ...claims, ...times }, key), expiresAt };
  }

  /**
   * Returns the content of a token; throws 401 `token_expired` or `token_invalid`. `acceptsExpired`: for a stream that
   * is open already.
   */
  async verify(token: string, { acceptsExpired = false }: VerifyOptions = {}): Promise<StreamGrant> {
    const claims = await readClaims<Static<typeof streamClaims>>(token, areStreamClaims, () =>
      jwtVerify(token, ({ kid }) => this.#findKey(kid).signing, {
        algorithms: ['HS256'],
        audience,
        clockTolerance: toTolerance(acceptsExpired),
        requiredClaims: ['iat', 'exp'],
      }),
    );
    const caller = readSubject(claims);
    if (caller === null) throw invalidToken();
    const quality = claims.main === true ? { isMainStream: true } : {};
    return { imei: claims.imei, channel: claims.ch, kind: claims.kind, caller, ...quality };
  }

  /** Issues a token that opens the live video of a share link's vehicle. It is encrypted. */
  async issueForLink({ linkId, slug }: LinkGrant, now = new Date()): Promise<IssuedToken> {
    const [{ id: kid, encryption }] = this.#keys;
    const { issuedAt, expiresAt } = this.#lifetime(now);
    const token = await new EncryptJWT({ link: linkId, slug })
      .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid })
      .setAudience(linkAudience)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expiresAt)
      .encrypt(encryption);
    return { token, expiresAt };
  }

  /** Returns the content of a guest's token; throws like `verify`. */
  async verifyForLink(token: string, { acceptsExpired = false }: VerifyOptions = {}): Promise<LinkGrant> {
    const { link, slug } = await readClaims<Static<typeof linkClaims>>(token, areLinkClaims, () =>
      jwtDecrypt(token, ({ kid }) => this.#findKey(kid).encryption, {
        keyManagementAlgorithms: ['dir'],
        contentEncryptionAlgorithms: ['A256GCM'],
        audience: linkAudience,
        clockTolerance: toTolerance(acceptsExpired),
        requiredClaims: ['iat', 'exp'],
      }),
    );
    return { linkId: link, slug };
  }

  #lifetime(now: Date): { readonly issuedAt: number; readonly expiresAt: Date } {
    const issuedAt = Math.floor(now.getTime() / 1000);
    return { issuedAt, expiresAt: new Date((issuedAt + this.#lifetimeSeconds) * 1000) };
  }

  #findKey(kid: string | undefined): Key {
    const key = this.#keys.find((each) => each.id === kid);
    if (key === undefined) throw new errors.JWKSNoMatchingKey();
    return key;
  }
}

/** Throws 403 if a token is for another device, channel or kind. */
export function assertGranted(grant: TokenStream, { imei, channel, kind }: TokenStream): void {
  if (grant.imei === imei && grant.channel === channel && grant.kind === kind) return;
  throw new AppError('permission_denied', 'The token is for another stream. Request a token for this one.');
}

function deriveKey(secret: string): Key {
  const derive = (purpose: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, '', purpose, 32));
  const signing = derive('fleet stream tokens, signature');
  const kid = createHash('sha256').update(signing).digest('hex').slice(0, 8);
  return { id: kid, signing, encryption: derive('fleet stream tokens, encryption') };
}

const toBase64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Returns a JWT with HS256. */
function signToken(claims: object, { id: kid, signing }: Key): string {
  const signed = `${toBase64url({ alg: 'HS256', kid, typ: 'JWT' })}.${toBase64url(claims)}`;
  return `${signed}.${createHmac('sha256', signing).update(signed).digest('base64url')}`;
}

const invalidToken = (cause?: unknown): AppError =>
  new AppError('token_invalid', 'The token is not valid.', cause === undefined ? {} : { cause });

async function readClaims<Claims>(
  token: string,
  areClaims: SchemaCheck,
  read: () => Promise<{ readonly payload: JWTPayload }>,
): Promise<Claims> {
  if (token.length > maxTokenLength) throw invalidToken();
  try {
    const { payload } = await read();
    if (areClaims(payload)) return payload as Claims;
  } catch (cause) {
    if (cause instanceof errors.JWTExpired) throw new AppError('token_expired', 'The token has expired.', { cause });
    if (cause instanceof errors.JOSEError) throw invalidToken(cause);
    throw cause;
  }
  throw invalidToken();
}
