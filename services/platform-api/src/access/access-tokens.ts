import { AppError } from '@fleet/service-kit';
import { errors, jwtVerify, SignJWT } from 'jose';
import type { SigningKeys } from '../domains/signing-keys/signing-keys.ts';
import type { Role } from './roles.ts';

/** Lifetime of an access token (services/platform-api/openapi.json: `expires_in`). */
export const accessTokenSeconds = 3600;
const audience = 'platform';
const clockToleranceSeconds = 5;

/** User, account, role, and session or key of a token. */
export interface TokenClaims {
  readonly userId: number;
  readonly accountId: number;
  readonly role: Role;
  /** Null for a token that was minted with an API key. */
  readonly sessionId: number | null;
  /** The API key that minted the token. The token becomes invalid with the key. */
  readonly mintedByKeyId: number | null;
}

/** Issues and verifies access tokens: JWTs signed with EdDSA, valid for one hour. */
export class AccessTokens {
  readonly #keys: SigningKeys;
  readonly #issuer: string;

  constructor(keys: SigningKeys, issuer: string) {
    this.#keys = keys;
    this.#issuer = issuer;
  }

  async issue(claims: TokenClaims, now = new Date()): Promise<string> {
    const { kid, privateKey } = await this.#keys.signingKey();
    const issuedAt = Math.floor(now.getTime() / 1000);
    return new SignJWT({
      acc: claims.accountId,
      role: claims.role,
      ...(claims.sessionId === null ? {} : { sid: claims.sessionId }),
      ...(claims.mintedByKeyId === null ? {} : { key: claims.mintedByKeyId }),
    })
      .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'JWT' })
      .setIssuer(this.#issuer)
      .setAudience(audience)
      .setSubject(String(claims.userId))
      .setIssuedAt(issuedAt)
      .setExpirationTime(issuedAt + accessTokenSeconds)
      .sign(privateKey);
  }

  /** Throws 401 `token_expired` or `token_invalid`, and 503 if the keys cannot be read. */
  async verify(token: string): Promise<TokenClaims> {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => this.#findKey(kid), {
        algorithms: ['EdDSA'],
        issuer: this.#issuer,
        audience,
        clockTolerance: clockToleranceSeconds,
        requiredClaims: ['sub', 'iat', 'exp'],
      });
      return {
        userId: parseId(Number(payload.sub)),
        accountId: parseId(payload['acc']),
        role: payload['role'] as Role,
        sessionId: payload['sid'] === undefined ? null : parseId(payload['sid']),
        mintedByKeyId: payload['key'] === undefined ? null : parseId(payload['key']),
      };
    } catch (cause) {
      if (cause instanceof errors.JWTExpired) throw new AppError('token_expired', 'The token has expired.', { cause });
      if (cause instanceof errors.JOSEError) throw new AppError('token_invalid', 'The token is not valid.', { cause });
      throw cause;
    }
  }

  async #findKey(kid: string | undefined) {
    const key = kid === undefined ? null : await this.#keys.verifyingKey(kid).catch(throwUnavailable);
    if (key === null) throw new errors.JWKSNoMatchingKey();
    return key;
  }
}

/** Throws 503, because a failed read does not show that the token is invalid. */
function throwUnavailable(cause: unknown): never {
  throw new AppError('unavailable', 'Credentials cannot be checked at the moment. Retry.', { cause });
}

function parseId(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 1)
    throw new errors.JWTInvalid('a claim is not an id');
  return value;
}
