import { type TSchema, Type } from 'typebox';
import type { RecordFields } from '../store/record-store.ts';

/** A positive record id. */
export const recordId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** `:id` of a path. */
export const idParams = Type.Object({ id: recordId });

/** `:vehicleId` of a path. */
export const vehicleIdParams = Type.Object({ vehicleId: recordId });

/** A value or null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** One of some names. */
export const nameEnum = <const T extends string>(
  names: readonly T[],
  options: { readonly description?: string } = {},
) => Type.Unsafe<T>({ type: 'string', enum: [...names], ...options });

/** A moment as answers show it, RFC 3339 in UTC. */
export const time = Type.String({ format: 'date-time', examples: ['2026-01-31T08:15:30.000Z'] });

/** A day, `YYYY-MM-DD`. */
export const date = Type.String({ format: 'date', examples: ['2026-01-31'] });

/** What the answer of every record has (services/platform-api/openapi.json). */
export const recordProperties = {
  id: recordId,
  created_at: time,
  updated_at: time,
  version: Type.Integer({ minimum: 1 }),
};

/** The common fields of a stored record, as answers show them. */
export const toRecordResponse = ({ _id, createdAt, updatedAt, version }: RecordFields) => ({
  id: _id,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
  version,
});

/** A moment as answers show it. */
export const formatTime = (timestamp: Date | null): string | null => timestamp?.toISOString() ?? null;
