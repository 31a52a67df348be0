import { hash, verify } from '@node-rs/argon2';

export const minPasswordLength = 10;
/** Longer passwords only cost time. */
export const maxPasswordLength = 256;

/** Hashes a password with argon2id, the library's default algorithm. */
export const hashPassword = (password: string): Promise<string> =>
  hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });

/**
 * Hash to compare with if there is no user or no password. The comparison takes as long as a real one, so that the time
 * reveals nothing.
 */
let dummyHash: Promise<string> | undefined;

/** Returns true if a password matches a hash; false without a hash, after the same time. */
export async function isPassword(passwordHash: string | null, password: string): Promise<boolean> {
  dummyHash ??= hashPassword('the password of nobody');
  const matches = await verify(passwordHash ?? (await dummyHash), password);
  return matches && passwordHash !== null;
}
