import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { type TSchema, Type } from 'typebox';
import { describeErrors } from './validation-messages.ts';

const ajv = new Ajv({ allErrors: true, strict: false, strictNumbers: true, verbose: true });
addFormats.default(ajv);

const validate = (schema: TSchema, value: unknown) => {
  const check = ajv.compile(schema);
  if (check(value)) throw new Error('the value is valid');
  return describeErrors(check.errors ?? []);
};
const getMessage = (schema: TSchema, value: unknown): string | undefined => {
  const faults = validate(Type.Object({ field: schema }), { field: value });
  expect(faults).toEqual([{ path: '/field', message: expect.any(String) }]);
  return faults[0]?.message;
};

const maybe = (schema: TSchema) => Type.Union([schema, Type.Null()]);
const location = Type.Object({ lat: Type.Number({ minimum: -90, maximum: 90 }), lng: Type.Number() });
const listOrNull = Type.Unsafe({ type: ['string', 'null'], enum: ['a', 'b', null] });

describe('plain faults', () => {
  it.each([
    [Type.String(), 7, 'must be a string'],
    [Type.Integer(), 'x', 'must be an integer'],
    [Type.Integer({ minimum: 1 }), 'x', 'must be an integer of at least 1'],
    [Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), 1.5, 'must be an integer of at least 1'],
    [Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), 2 ** 60, 'must be at most 9007199254740991'],
    [Type.Integer(), '1234567890123456', 'must have at most 15 digits'],
    [Type.Number({ minimum: 0, maximum: 5 }), null, 'must be a number from 0 to 5'],
    [Type.Number({ minimum: 0, maximum: 5 }), 6, 'must be from 0 to 5'],
    [Type.Number({ maximum: 5 }), 6, 'must be at most 5'],
    [Type.Number({ exclusiveMinimum: 0 }), 0, 'must be greater than 0'],
    [Type.Boolean(), 'yes', 'must be true or false'],
    [Type.Object({}), [], 'must be an object'],
    [Type.Array(Type.String()), 'x', 'must be a list'],
    [Type.Unsafe({ type: ['string', 'null'] }), 7, 'must be a string or null'],
    [listOrNull, 'c', 'must be one of a, b or null'],
    [listOrNull, 7, 'must be one of a, b or null'],
    [Type.Unsafe({ type: 'string', enum: ['CLEAR'] }), 'x', 'must be CLEAR'],
    [Type.String({ minLength: 1, maxLength: 9 }), '', 'must not be empty'],
    [Type.String({ minLength: 2, maxLength: 9 }), 'x', 'must have 2 to 9 characters'],
    [Type.String({ minLength: 1, maxLength: 1 }), 'xx', 'must have at most 1 character'],
    [Type.Array(Type.Number(), { minItems: 2, maxItems: 2 }), [1], 'must have exactly 2 items'],
    [Type.Array(Type.Number(), { minItems: 1 }), [], 'must not be empty'],
    [Type.Array(Type.Number(), { maxItems: 1 }), [1, 2], 'must have at most 1 item'],
    [Type.Array(Type.Number(), { uniqueItems: true }), [1, 1], 'must not have the same item twice'],
    [Type.String({ format: 'email' }), 'x', 'must be an email address'],
    [Type.String({ format: 'date' }), 'x', 'must be a date as YYYY-MM-DD, such as 2026-01-31'],
    [Type.String({ pattern: '^x$' }), 'y', 'does not have the right form'],
    [Type.String({ pattern: '^x+$', examples: ['xx'] }), 'y', 'must be written like xx'],
    [Type.String({ pattern: '^x+$', errorMessage: 'must be a row of x' }), 'y', 'must be a row of x'],
    [Type.String({ pattern: '^x+$', errorMessage: 'must be a row of x' }), 7, 'must be a row of x'],
    [Type.Unsafe({ type: ['string', 'null'], pattern: '^x+$', errorMessage: 'must be x' }), 7, 'must be x or null'],
    [Type.String({ pattern: '^x', maxLength: 2, errorMessage: { pattern: 'must be x' } }), 'y', 'must be x'],
    [Type.String({ pattern: '^x', maxLength: 2, errorMessage: { pattern: 'must be x' } }), 7, 'must be a string'],
    [maybe(Type.String({ maxLength: 2 })), 7, 'must be a string or null'],
    [maybe(Type.String({ maxLength: 2 })), 'xxx', 'must have at most 2 characters'],
    [maybe(location), 'x', 'must be an object or null'],
    [Type.Union([Type.Literal('json'), Type.Literal('csv')]), 'x', 'must be json or csv'],
  ])('describes %j given %j', (schema, value, message) => {
    expect(getMessage(schema, value)).toBe(message);
  });

  it('reports each field once, and fields of the intended branch', () => {
    const schema = Type.Object({
      code: Type.String({ minLength: 3, pattern: '^[0-9]+$', format: 'email' }),
      at: maybe(location),
    });
    expect(validate(schema, { code: 'x', at: { lat: 91 } })).toEqual([
      { path: '/code', message: 'must have at least 3 characters' },
      { path: '/at/lng', message: 'is missing' },
      { path: '/at/lat', message: 'must be from -90 to 90' },
    ]);
    expect(validate(Type.Array(maybe(location)), [7, null, { lat: 'x', lng: 1 }])).toEqual([
      { path: '/0', message: 'must be an object or null' },
      { path: '/2/lat', message: 'must be a number from -90 to 90' },
    ]);
  });

  it('reports missing and unknown fields', () => {
    const strict = Type.Object({ a: Type.String() }, { additionalProperties: false });
    expect(validate(strict, { 'b/c': 1 })).toEqual([
      { path: '/a', message: 'is missing' },
      { path: '/b~1c', message: 'is not a known field' },
    ]);
    const filters = Type.Object({}, { propertyNames: { enum: ['status', 'site'] } });
    expect(validate(Type.Object({ filters }), { filters: { colour: 1, site: 2 } })).toEqual([
      { path: '/filters/colour', message: 'is not a known field; known fields: status, site' },
    ]);
  });
});
