/** An index, declared here by the domain whose collection it is; `keys` in MongoDB's way. Made at the start, by one replica. */
export interface Index {
  readonly collection: string;
  readonly keys: Readonly<Record<string, 1 | -1 | '2dsphere'>>;
}

/** All indexes: lists are read by account, newest first. Uniqueness needs none: see `AccountRecords`. */
export const indexes: readonly Index[] = [
  { collection: 'users', keys: { accountId: 1, _id: -1 } },
  { collection: 'sessions', keys: { accountId: 1, userId: 1 } },
  { collection: 'sessions', keys: { expiresAt: 1 } },
  { collection: 'api_keys', keys: { accountId: 1, _id: -1 } },
  { collection: 'audit_log', keys: { accountId: 1, _id: -1 } },
  { collection: 'audit_log', keys: { createdAt: 1 } },
  { collection: 'idempotency_keys', keys: { expiresAt: 1 } },
];
