import { Type } from 'typebox';
import { nameEnum, time } from '../../platform/schemas.ts';
import { email, password, personName, phoneNumber } from '../users/fields.ts';
import { maxPasswordLength } from '../users/passwords.ts';
import { recoveryCodePattern } from './recovery-codes.ts';
import { sessionField } from './session-cookie.ts';

const code = Type.String({
  pattern: '^\\d{6}$',
  errorMessage: 'must be a code of 6 digits',
  examples: ['123456'],
});

export const registerBody = Type.Object({
  name: personName,
  email: Type.Optional(email),
  phone_number: Type.Optional(phoneNumber),
  password,
  account_name: personName,
  session: sessionField,
});

export const loginBody = Type.Object({
  identifier: Type.String({ minLength: 1, maxLength: 254, description: 'E-mail or phone number.' }),
  // No minimum length: a password that is too short is simply wrong.
  password: Type.String({ minLength: 1, maxLength: maxPasswordLength }),
  code: Type.Optional(
    Type.String({
      maxLength: 20,
      description: 'Code of the authenticator app or a recovery code, if two-factor log-in is enabled.',
    }),
  ),
  session: sessionField,
});

export const sendCodeBody = Type.Object({ phone_number: phoneNumber });

export const verifyCodeBody = Type.Object({
  phone_number: phoneNumber,
  code,
  totp_code: Type.Optional(
    Type.String({
      maxLength: 20,
      description: 'Code of the authenticator app or a recovery code, if two-factor log-in is enabled.',
    }),
  ),
  session: sessionField,
});

export const refreshBody = Type.Object({
  refresh_token: Type.Optional(
    Type.String({ minLength: 1, maxLength: 256, description: 'Absent: the token of the session cookie.' }),
  ),
});

export const forgotBody = Type.Object({ identifier: Type.String({ minLength: 1, maxLength: 254 }) });

export const resetBody = Type.Object({ token: Type.String({ minLength: 1, maxLength: 256 }), password });

export const checkTokenBody = Type.Object({ token: Type.String({ minLength: 1, maxLength: 256 }) });

export const tokenCheckSchema = Type.Object(
  {
    kind: nameEnum(['reset', 'invitation']),
    name: Type.String({ description: 'Name of the user.' }),
    account_name: Type.String(),
    expires_at: time,
  },
  { title: 'TokenCheck' },
);

export const totpBody = Type.Object({
  code: Type.Optional(
    Type.Union([code, Type.Null()], { description: 'Confirms the secret and enables two-factor log-in.' }),
  ),
});

export const endTotpBody = Type.Object({
  code: Type.String({
    pattern: `^(\\d{6}|${recoveryCodePattern})$`,
    errorMessage: 'must be a code of 6 digits or a recovery code',
    examples: ['123456', 'abcde-fghjk'],
  }),
});
