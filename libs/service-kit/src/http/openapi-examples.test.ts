import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { ExampleBuilder } from './openapi-examples.ts';

const nullable = Type.Union([Type.String(), Type.Null()]);
const driver = Type.Object({ id: Type.Integer(), name: Type.String() }, { title: 'Driver' });

describe('ExampleBuilder', () => {
  it('combines the examples, constants, defaults and enumerations of the fields', () => {
    const schema = Type.Object({
      plate: Type.String({ examples: ['KL07CD1234'] }),
      kind: Type.Literal('truck'),
      limit: Type.Integer({ default: 50 }),
      unit: Type.Unsafe<string>({ type: 'string', enum: ['km', 'mi'] }),
      seenAt: Type.String({ format: 'date-time' }),
      isActive: Type.Boolean(),
      note: nullable,
      tags: Type.Array(Type.String({ examples: ['night'] })),
      corners: Type.Array(Type.Number({ examples: [1.5] }), { minItems: 3 }),
      unknown: Type.Optional(Type.String()),
    });
    expect(new ExampleBuilder().createResponse(schema, 'readVehicle')).toEqual({
      plate: 'KL07CD1234',
      kind: 'truck',
      limit: 50,
      unit: 'km',
      seenAt: '2026-01-31T08:15:30.000Z',
      isActive: false,
      note: null,
      tags: ['night'],
      corners: [1.5, 1.5, 1.5],
    });
  });

  it('prefers the value of a field in its record, then that of its name', () => {
    const builder = new ExampleBuilder({ id: 7, name: 'Truck 12', 'Driver.name': 'Ravi', 'listDrivers.name': 'Page' });
    const list = Type.Object({ name: Type.String(), data: Type.Array(driver) });
    expect(builder.createResponse(list, 'listDrivers')).toEqual({ name: 'Page', data: [{ id: 7, name: 'Ravi' }] });
  });

  it('ignores a value of another type, of other items or outside an enumeration', () => {
    const builder = new ExampleBuilder({ code: '123456', ids: [1, 2], status: 'moving' });
    const schema = Type.Object({
      code: Type.Integer({ examples: [0] }),
      ids: Type.Array(Type.String({ examples: ['a'] })),
      status: Type.Unsafe<string>({ type: 'string', enum: ['queued'] }),
    });
    expect(builder.createResponse(schema, 'x')).toEqual({ code: 0, ids: ['a'], status: 'queued' });
  });

  it('uses null for a field whose value is null', () => {
    const builder = new ExampleBuilder({ error: null });
    const schema = Type.Object({ error: Type.Union([Type.String({ examples: ['failed'] }), Type.Null()]) });
    expect(builder.createResponse(schema, 'x')).toEqual({ error: null });
  });

  it('omits read-only fields from requests, and uses the whole body of an operation', () => {
    const body = Type.Object({ id: Type.Integer({ readOnly: true, examples: [7] }), name: Type.String() });
    const builder = new ExampleBuilder({ name: 'Truck 12', createRoute: { waypoints: [] } });
    expect(builder.createRequest(body, 'updateVehicle')).toEqual({ name: 'Truck 12' });
    expect(builder.createRequest(body, 'createRoute')).toEqual({ waypoints: [] });
    expect(builder.createResponse(body, 'updateVehicle')).toEqual({ id: 7, name: 'Truck 12' });
  });

  it('has no example of a field that nothing describes', () => {
    expect(new ExampleBuilder().createResponse(Type.String(), 'x')).toBeUndefined();
  });
});
