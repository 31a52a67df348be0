import { hash, verify } from '@node-rs/argon2';

export const minPasswordLength = 10;
/** Longer ones only cost time. */
export const maxPasswordLength = 256;

/** Cost of argon2id, the library's default algorithm. */
export const hashPassword = (password: string): Promise<string> =>
  hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });

/** What is compared with where there is no user or no password: as slow as the real thing, so that the time tells nothing. */
let nobodysHash: Promise<string> | undefined;

/** True when a password is the one of a hash; without a hash false, after the same time. */
export async function isPassword(passwordHash: string | null, password: string): Promise<boolean> {
  nobodysHash ??= hashPassword('the password of nobody');
  const matches = await verify(passwordHash ?? (await nobodysHash), password);
  return matches && passwordHash !== null;
}
