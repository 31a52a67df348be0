import { Type } from 'typebox';
import { trimmedText } from '../../platform/fields.ts';
import { maxPasswordLength, minPasswordLength } from './passwords.ts';

/** Body fields that describe a person. */
export const personName = trimmedText(1, 100);
export const email = Type.String({
  maxLength: 254,
  pattern: '^[^@\\s]+@[^@\\s]+$',
  errorMessage: { pattern: 'must be an email address' },
  examples: ['ann@fleet.example'],
});
export const phoneNumber = Type.String({
  maxLength: 40,
  description: 'International format (E.164). Spaces, dashes and brackets are ignored.',
  examples: ['+919876543210'],
});
export const password = Type.String({ minLength: minPasswordLength, maxLength: maxPasswordLength });
export const timezone = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'IANA name.',
  examples: ['Asia/Kolkata'],
});
export const language = Type.String({
  pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
  errorMessage: { pattern: 'must be a language tag such as en-IN' },
  maxLength: 35,
  description: 'BCP 47.',
  examples: ['en-IN'],
});
