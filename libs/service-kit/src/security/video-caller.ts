/**
 * The caller on whose access video depends. It is checked again while a stream is open, and stays valid without the
 * credential with which the caller authenticated.
 */
export type VideoCaller =
  | {
      readonly kind: 'user';
      /** The account in which the user acts. */
      readonly accountId: number;
      readonly userId: number;
      /** The log-in; null for a token that an API key minted. */
      readonly sessionId: number | null;
      /** The API key that minted the user's token. */
      readonly mintedByKeyId: number | null;
      /** The API key of the request. */
      readonly keyId: number | null;
    }
  | { readonly kind: 'key'; readonly accountId: number; readonly keyId: number }
  /** A guest of a share link. */
  | { readonly kind: 'link'; readonly linkId: number }
  /** A caller of a service that requires no credentials. */
  | { readonly kind: 'anonymous' };

/** Claims of a token that name its caller. */
interface SubjectClaims {
  /** User id, `key:<id>` or `anonymous`. */
  readonly sub: string;
  readonly acc?: number | undefined;
  readonly sid?: number | undefined;
  readonly key?: number | undefined;
  readonly mint?: number | undefined;
}

const anonymous = 'anonymous';
const keyPrefix = 'key:';

/** Returns the claims that name a caller. */
export function writeSubject(caller: Exclude<VideoCaller, { kind: 'link' }>): SubjectClaims {
  if (caller.kind === 'anonymous') return { sub: anonymous };
  const { accountId } = caller;
  if (caller.kind === 'key') return { sub: `${keyPrefix}${caller.keyId}`, acc: accountId };
  const { userId, sessionId, mintedByKeyId, keyId } = caller;
  return {
    sub: String(userId),
    acc: accountId,
    ...(sessionId === null ? {} : { sid: sessionId }),
    ...(keyId === null ? {} : { key: keyId }),
    ...(mintedByKeyId === null ? {} : { mint: mintedByKeyId }),
  };
}

/** Returns the subject of a caller; that of a guest is `link:<id>`. */
export const subjectOf = (caller: VideoCaller): string =>
  caller.kind === 'link' ? `link:${caller.linkId}` : writeSubject(caller).sub;

/** Returns the caller that claims name; null if they name none. */
export function readSubject({
  sub,
  acc,
  sid,
  key,
  mint,
}: SubjectClaims): Exclude<VideoCaller, { kind: 'link' }> | null {
  if (sub === anonymous) return { kind: 'anonymous' };
  if (acc === undefined) return null;
  if (sub.startsWith(keyPrefix)) {
    const keyId = parseId(sub.slice(keyPrefix.length));
    return keyId === null ? null : { kind: 'key', accountId: acc, keyId };
  }
  const userId = parseId(sub);
  if (userId === null) return null;
  return {
    kind: 'user',
    accountId: acc,
    userId,
    sessionId: sid ?? null,
    mintedByKeyId: mint ?? null,
    keyId: key ?? null,
  };
}

const parseId = (text: string): number | null => (/^[1-9]\d{0,14}$/.test(text) ? Number(text) : null);
