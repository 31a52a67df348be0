import { createRequire } from 'node:module';
import { validationError } from '@fleet/service-kit';

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

/** Converts the phone number of the field `phone_number` like `normalizePhone`; throws 400 if it is invalid. */
export function parsePhoneNumber(text: string): string {
  const phone = normalizePhone(text);
  if (phone !== null) return phone;
  throw validationError([{ path: '/phone_number', message: 'must be a phone number in international format' }]);
}
