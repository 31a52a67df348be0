import { validationError } from '@fleet/service-kit';
import { type Role, roles } from '../../access/roles.ts';
import { isTimezone } from '../../platform/local-time.ts';
import { parsePhoneNumber } from '../../platform/phone.ts';
import type { NewAccountRecord } from '../../store/account-repository.ts';
import type { User } from './schema.ts';

export const normalEmail = (email: string): string => email.trim().toLowerCase();

export const isEmail = (text: string): boolean => /^[^@\s]+@[^@\s]+$/.test(text);

/** Returns the stored form of a new user. */
export const newUser = (
  fields: Partial<NewAccountRecord<User>> & Pick<User, 'name' | 'role'>,
): NewAccountRecord<User> => ({
  email: null,
  phoneNumber: null,
  phoneVerifiedAt: null,
  canViewVideo: fields.role !== 'viewer' && fields.role !== 'driver',
  language: 'en',
  timezone: 'UTC',
  passwordHash: null,
  totp: null,
  disabled: false,
  lastLoginAt: null,
  ...fields,
});

/** Returns the contact of a user: an e-mail, a phone number, or both. */
export function readContact(given: { email?: string | null | undefined; phone_number?: string | null | undefined }): {
  email: string | null;
  phoneNumber: string | null;
} {
  const email = given.email ?? null;
  const phone = given.phone_number ?? null;
  if (email === null && phone === null)
    throw validationError([{ path: '/email', message: 'or phone_number is required' }]);
  const phoneNumber = phone === null ? null : parsePhoneNumber(phone);
  return { email: email === null ? null : normalEmail(email), phoneNumber };
}

/** Throws 400 for an unknown time zone. */
export function checkTimezone(name: string | undefined): void {
  if (name !== undefined && !isTimezone(name))
    throw validationError([{ path: '/timezone', message: 'must be an IANA name such as Asia/Kolkata' }]);
}

/** The roles that users of a role may assign, and whose users they may manage. */
export const assignableRoles: Readonly<Record<Role, readonly Role[]>> = {
  superadmin: roles,
  dealer: [],
  owner: ['owner', 'admin', 'manager', 'viewer', 'driver'],
  admin: ['admin', 'manager', 'viewer', 'driver'],
  manager: [],
  viewer: [],
  driver: [],
};
