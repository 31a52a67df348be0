import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
/** Loads the library on first use, because its tables of numbers take long to load. */
const loadLibrary = (): typeof import('libphonenumber-js') => require('libphonenumber-js') as never;

/**
 * Converts an international phone number to E.164, ignoring spaces, dashes and brackets; returns null if it is invalid
 * (docs/reference/conventions.md).
 */
export function normalizePhone(text: string): string | null {
  const plain = text.replaceAll(/[\s().\-\u2010-\u2015]/g, '');
  if (!/^\+[1-9]\d{5,14}$/.test(plain)) return null;
  const parsed = loadLibrary().parsePhoneNumberFromString(plain);
  return parsed?.isPossible() === true ? parsed.number : null;
}
