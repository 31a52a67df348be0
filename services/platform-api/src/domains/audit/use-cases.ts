import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { AuditEntry } from './schema.ts';
import { auditEntryCollection } from './store.ts';

export { insertOnce as recordOnce } from './store.ts';

/**
 * The actor of an entry: the caller of a request, or only the account if there is no caller (a log-in, the system
 * itself).
 */
export type Actor = Pick<Caller, 'accountId'> & Partial<Pick<Caller, 'userId' | 'keyId' | 'mintedByKeyId' | 'ip'>>;

/**
 * Records an action, its actor and its target (docs/reference/operations.md): log-ins, keys, shares, opened links,
 * video views, commands, configuration, deletions. If the entry cannot be written, the error is logged and the action
 * is not undone.
 */
export async function audit(
  { records, log }: Pick<Deps, 'records' | 'log'>,
  actor: Actor,
  action: string,
  target: AuditEntry['target'],
  detail: AuditEntry['detail'] = {},
): Promise<void> {
  const { userId = null, mintedByKeyId = null, ip = null } = actor;
  const keyId = actor.keyId ?? mintedByKeyId;
  try {
    await auditEntryCollection(records).insert(actor, { userId, keyId, action, target, detail, ip });
  } catch (error) {
    log.error({ err: error, action, target }, 'could not write an audit log entry');
  }
}

/** Removes the IP addresses of a user whose personal fields are removed. */
export const eraseIpAddresses = (records: RecordStore, scope: Scope, userId: number): Promise<number> =>
  auditEntryCollection(records).updateMany(scope, { userId }, { $set: { ip: null } });
