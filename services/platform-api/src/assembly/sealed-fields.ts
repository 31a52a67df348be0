import { webhookSecretPurpose } from '@fleet/storage';
import { dashboardKeyPurpose } from '../domains/api-keys/rules.ts';
import { totpPurpose } from '../domains/auth/two-factor.ts';
import { documentPurpose } from '../domains/documents/document-files.ts';
import { commandTokenPurpose } from '../domains/partners/rules.ts';
import { signingKeyPurpose } from '../domains/signing-keys/signing-keys.ts';
import { mailPurpose } from '../mail/mail-queue.ts';

/** The fields of all collections that name the purpose of an encrypted field. */
export interface SealedRecord {
  readonly _id: number | string;
  readonly accountId?: number;
  readonly userId?: number;
  readonly kid?: string;
}

/** An encrypted field of a collection. */
interface SealedField {
  readonly collection: string;
  /** Path of the field, with dots. */
  readonly field: string;
  readonly purpose: (record: SealedRecord) => string;
}

/**
 * All fields that ENCRYPTION_KEY encrypts for longer than a day. One-time codes, tickets and the next tokens of sessions
 * expire before a former key is removed.
 */
export const sealedFields: readonly SealedField[] = [
  { collection: 'signing_keys', field: 'sealedPrivateKey', purpose: ({ kid = '' }) => signingKeyPurpose(kid) },
  { collection: 'webhooks', field: 'sealedSecret', purpose: ({ userId = 0 }) => webhookSecretPurpose(userId) },
  { collection: 'webhooks', field: 'sealedOldSecret', purpose: ({ userId = 0 }) => webhookSecretPurpose(userId) },
  { collection: 'users', field: 'totp.sealedSecret', purpose: ({ _id }) => totpPurpose(Number(_id)) },
  {
    collection: 'api_keys',
    field: 'sealedDashboardKey',
    purpose: ({ accountId = 0 }) => dashboardKeyPurpose(accountId),
  },
  {
    collection: 'partners',
    field: 'sealedCommandToken',
    purpose: ({ accountId = 0 }) => commandTokenPurpose(accountId),
  },
  { collection: 'mails', field: 'sealedContent', purpose: ({ _id }) => mailPurpose(String(_id)) },
  { collection: 'document_files', field: 'sealed', purpose: ({ _id }) => documentPurpose(Number(_id)) },
];
