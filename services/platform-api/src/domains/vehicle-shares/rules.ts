import { validationError } from '@fleet/service-kit';
import { type SharePermission, sharePermissions } from './schema.ts';

/** Default permissions of a share. */
const defaultPermissions: readonly SharePermission[] = ['view', 'notifications'];

/** Normalizes permissions for storage: always `view`, no duplicates, fixed order. */
export const storedPermissions = (given: readonly SharePermission[] = defaultPermissions): SharePermission[] =>
  sharePermissions.filter((permission) => permission === 'view' || given.includes(permission));

/** Returns when a share ends; throws 400 for a time in the past. */
export function readExpiry(text: string | null | undefined, now: Date): Date | null {
  if (text === null || text === undefined) return null;
  const expiresAt = new Date(text);
  if (expiresAt > now) return expiresAt;
  throw validationError([{ path: '/expires_at', message: 'must be in the future' }]);
}

/** Masks a name except for the first letter, by which acquaintances recognize it. */
export const maskedName = (name: string): string => `${/^./u.exec(name.trim())?.[0] ?? ''}***`;

/** Masks a phone number except for the last four digits, by which acquaintances recognize it. */
export const maskedPhone = (phone: string): string => `+${'*'.repeat(Math.max(0, phone.length - 5))}${phone.slice(-4)}`;
