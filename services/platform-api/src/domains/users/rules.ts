import type { NewAccountRecord } from '../../store/account-records.ts';
import type { User } from './schema.ts';

export const normalEmail = (email: string): string => email.trim().toLowerCase();

export const isEmail = (text: string): boolean => /^[^@\s]+@[^@\s]+$/.test(text);

/** A new user as it is stored. */
export const newUser = (
  fields: Partial<NewAccountRecord<User>> & Pick<User, 'name' | 'role'>,
): NewAccountRecord<User> => ({
  email: null,
  phoneNumber: null,
  canViewVideo: fields.role !== 'viewer' && fields.role !== 'driver',
  language: 'en',
  timezone: 'UTC',
  passwordHash: null,
  totp: null,
  disabled: false,
  lastLoginAt: null,
  ...fields,
});
