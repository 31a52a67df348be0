import { Type } from 'typebox';
import { nullable, recordId, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** What was done, by whom, to what. */
export interface AuditEntry extends AccountRecord {
  /** Null for what the system did by itself. */
  readonly userId: number | null;
  readonly keyId: number | null;
  /** What was done, such as `drivers.delete`, `auth.login`. */
  readonly action: string;
  /** To what: the name of a collection and the id of a record. */
  readonly target: { readonly type: string; readonly id: number | string } | null;
  /** What else there is to know; no secrets, no personal data that is not in the record. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly ip: string | null;
}

export const auditEntryResponse = Type.Object(
  {
    id: recordId,
    user_id: nullable(recordId),
    api_key_id: nullable(recordId),
    action: Type.String({ examples: ['drivers.delete'] }),
    target: nullable(Type.Object({ type: Type.String(), id: Type.Union([Type.Integer(), Type.String()]) })),
    detail: Type.Record(Type.String(), Type.Unknown()),
    ip: nullable(Type.String()),
    created_at: time,
  },
  { title: 'AuditEntry' },
);
