import type { Database } from '@fleet/storage';

/** One change of what is stored. It may run twice, and while the release before it is still running: it adds, and takes nothing away. */
export interface Migration {
  /** Counts up; never given twice. */
  readonly id: number;
  readonly name: string;
  readonly up: (database: Database) => Promise<unknown>;
}

/** Fills in fields where they are absent. */
const fillIn =
  (collection: string, fields: Readonly<Record<string, unknown>>) =>
  async (database: Database): Promise<void> => {
    for (const [field, value] of Object.entries(fields))
      await database.collection(collection).updateMany({ [field]: { $exists: false } }, { $set: { [field]: value } });
  };

/** All migrations, in the order of their ids. */
export const migrations: readonly Migration[] = [
  {
    id: 1,
    name: 'accounts have a status, a dealer and a time zone',
    up: fillIn('accounts', { status: 'active', dealerAccountId: null, timezone: 'UTC' }),
  },
  {
    id: 2,
    name: 'users have a phone number, settings, two-factor log-in, and may be disabled',
    up: fillIn('users', {
      phoneNumber: null,
      canViewVideo: true,
      language: 'en',
      timezone: 'UTC',
      totp: null,
      disabled: false,
      lastLoginAt: null,
    }),
  },
  {
    id: 3,
    name: 'API keys have a maker, may mint tokens, or be that of a dashboard',
    up: fillIn('api_keys', { userId: null, canMintTokens: false, sealedDashboardKey: null }),
  },
];
