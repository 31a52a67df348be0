import type { RecordFields } from '../../store/records.ts';

/** What an API key may do (platform-contract.md, section 2.3). */
export type Scope = 'read' | 'write' | 'command' | 'video' | 'ingest' | 'webhook';

export interface ApiKey extends RecordFields {
  readonly accountId: number;
  readonly name: string;
  readonly keySha256: string;
  /** Last 4 characters of the key, to tell keys apart. */
  readonly hint: string;
  readonly scopes: readonly Scope[];
  /** CIDRs; empty: every address. */
  readonly ipAllowlist: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** Who made it; null for keys from the settings. */
  readonly userId: number | null;
  readonly canMintTokens: boolean;
  /** The key of the account's dashboard, sealed for the purpose `dashboard key of account <id>`: valid with a session and an allowed origin alone. Null for all others. */
  readonly sealedDashboardKey: string | null;
}
