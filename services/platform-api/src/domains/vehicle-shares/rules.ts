import { validationError } from '@fleet/service-kit';
import { type SharePermission, sharePermissions } from './schema.ts';

/** What a share allows when nothing is said. */
export const defaultPermissions: readonly SharePermission[] = ['view', 'notifications'];

/** Permissions as they are stored: `view` always, each once, in one order. */
export const storedPermissions = (given: readonly SharePermission[] = defaultPermissions): SharePermission[] =>
  sharePermissions.filter((permission) => permission === 'view' || given.includes(permission));

/** When a share ends; 400 for a time that has passed. */
export function readExpiry(text: string | null | undefined, now: Date): Date | null {
  if (text === null || text === undefined) return null;
  const expiresAt = new Date(text);
  if (expiresAt > now) return expiresAt;
  throw validationError([{ path: '/expires_at', message: 'must be in the future' }]);
}

/** A name that its bearer's friends know: the first letter. */
export const maskedName = (name: string): string => `${/^./u.exec(name.trim())?.[0] ?? ''}***`;

/** A number that its bearer's friends know: the last four digits. */
export const maskedPhone = (phone: string): string => `+${'*'.repeat(Math.max(0, phone.length - 5))}${phone.slice(-4)}`;
