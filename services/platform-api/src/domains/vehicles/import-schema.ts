import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId } from '../../platform/schemas.ts';

export const importBody = Type.Object({
  rows: Type.Array(
    Type.Unsafe<Record<string, unknown>>({
      type: 'object',
      additionalProperties: true,
      description: 'The fields of `POST /api/vehicles`. An existing `vehicle_no` is updated.',
      examples: [{ vehicle_no: 'KL07CD1234', name: 'Truck 12' }],
    }),
    { minItems: 1, maxItems: 200 },
  ),
});

const importRowResponse = Type.Object({
  index: Type.Integer({ minimum: 0, description: 'Index of the row in the request.' }),
  status: stringEnum(['created', 'updated', 'failed']),
  vehicle_id: nullable(recordId),
  code: nullable(Type.String({ description: 'Code of the error of a row that failed.' })),
  error: nullable(Type.String()),
  details: Type.Array(
    Type.Object({ path: Type.String({ description: 'JSON pointer to the field.' }), message: Type.String() }),
  ),
});
export type ImportRowResponse = Static<typeof importRowResponse>;

export const importResponse = Type.Object(
  {
    rows: Type.Array(importRowResponse),
    created: Type.Integer({ minimum: 0 }),
    updated: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0 }),
  },
  { title: 'VehicleImport' },
);
export type ImportResponse = Static<typeof importResponse>;
