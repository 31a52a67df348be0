import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { AuditEntry } from './schema.ts';
import { auditEntryCollection } from './store.ts';

export { insertOnce as recordOnce } from './store.ts';

/** Who did something: the caller of a request, or, where there is none (a log-in, the system itself), the account alone. */
export type Actor = Pick<Caller, 'accountId'> & Partial<Pick<Caller, 'userId' | 'keyId' | 'mintedByKeyId' | 'ip'>>;

/**
 * Notes who did what to what (docs/reference/operations.md): log-ins, keys, shares, opened links, video views, commands, configuration, deletions. What is
 * done already stays done where the note cannot be written; that is logged.
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
    log.error({ err: error, action, target }, 'an entry of the audit log could not be written');
  }
}

/** Removes the addresses that a user came from, whose personal fields are removed. */
export const eraseIpAddresses = (records: RecordStore, scope: Scope, userId: number): Promise<number> =>
  auditEntryCollection(records).updateMany(scope, { userId }, { $set: { ip: null } });
