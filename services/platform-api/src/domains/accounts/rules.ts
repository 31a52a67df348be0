import { hash } from '@node-rs/argon2';

export const minPasswordLength = 10;

export const normalEmail = (email: string): string => email.trim().toLowerCase();

export const isEmail = (text: string): boolean => /^[^@\s]+@[^@\s]+$/.test(text);

/** argon2id, the library's default algorithm, at the cost that platform-contract.md 2.2 sets. */
export const hashPassword = (password: string): Promise<string> =>
  hash(password, { memoryCost: 19_456, timeCost: 2, parallelism: 1 });
