import { type TSchema, Type } from 'typebox';
import type { RecordFields } from '../store/record-store.ts';

/** A positive record id. */
export const recordId = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** The path parameter `:id`. */
export const idParams = Type.Object({ id: recordId });

/** The path parameter `:vehicleId`. */
export const vehicleIdParams = Type.Object({ vehicleId: recordId });

/** Returns the schema of a value or null. */
export const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** Returns the schema of one of several strings. */
export const nameEnum = <const T extends string>(
  names: readonly T[],
  options: { readonly description?: string } = {},
) => Type.Unsafe<T>({ type: 'string', enum: [...names], ...options });

/** A time in responses, RFC 3339 in UTC. */
export const time = Type.String({ format: 'date-time', examples: ['2026-01-31T08:15:30.000Z'] });

/** A day, `YYYY-MM-DD`. */
export const date = Type.String({ format: 'date', examples: ['2026-01-31'] });

/** The fields of every record in responses (services/platform-api/openapi.json). */
export const recordProperties = {
  id: recordId,
  created_at: time,
  updated_at: time,
  version: Type.Integer({ minimum: 1 }),
};

/** Returns the common fields of a stored record for a response. */
export const toRecordResponse = ({ _id, createdAt, updatedAt, version }: RecordFields) => ({
  id: _id,
  created_at: createdAt.toISOString(),
  updated_at: updatedAt.toISOString(),
  version,
});

/** Formats a time for a response. */
export const formatTime = (timestamp: Date | null): string | null => timestamp?.toISOString() ?? null;
