import { Type } from 'typebox';
import { nullable, recordId, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** An action, its actor and its target. */
export interface AuditEntry extends AccountRecord {
  /** Null for actions of the system. */
  readonly userId: number | null;
  readonly keyId: number | null;
  /** The action, such as `drivers.delete` or `auth.login`. */
  readonly action: string;
  /** The target: the name of a collection and the id of a record. */
  readonly target: { readonly type: string; readonly id: number | string } | null;
  /** Further details. No secrets, and no personal data that is not in the record. */
  readonly detail: Readonly<Record<string, unknown>>;
  readonly ip: string | null;
}

export const auditEntryResponse = Type.Object(
  {
    id: recordId,
    user_id: nullable(recordId),
    user_name: nullable(Type.String({ description: 'Null for actions of the system and for deleted users.' })),
    api_key_id: nullable(recordId),
    action: Type.String({ examples: ['drivers.delete'] }),
    target: nullable(Type.Object({ type: Type.String(), id: Type.Union([Type.Integer(), Type.String()]) })),
    detail: Type.Record(Type.String(), Type.Unknown()),
    ip: nullable(Type.String()),
    created_at: time,
  },
  { title: 'AuditEntry' },
);
