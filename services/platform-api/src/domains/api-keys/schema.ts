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
}
