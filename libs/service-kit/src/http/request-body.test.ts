import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import type { AppError } from './errors.ts';
import { compileBodyParser, getIgnoredFields } from './request-body.ts';
import type { RequestContext } from './route.ts';

const contextWith = (headers: Record<string, string> = {}): RequestContext =>
  ({ request: { get: (name: string) => headers[name.toLowerCase()] } }) as unknown as RequestContext;

const body = Type.Object({
  name: Type.String({ minLength: 1 }),
  phoneNumber: Type.Optional(Type.String({ alias: 'phone_number' })),
  note: Type.Optional(Type.String({ minLength: 1, maxLength: 20, trim: true })),
  contact: Type.Optional(Type.Union([Type.Object({ name: Type.String() }), Type.Null()])),
  points: Type.Optional(Type.Array(Type.Object({ lat: Type.Number() }))),
  attributes: Type.Optional(Type.Object({}, { additionalProperties: true })),
  created_at: Type.Optional(Type.String({ readOnly: true })),
});
const parse = compileBodyParser(body);

function catchError(raw: unknown, headers: Record<string, string> = {}): AppError {
  try {
    parse(raw, contextWith(headers));
  } catch (error) {
    return error as AppError;
  }
  throw new Error('the body was accepted');
}

describe('bodies of the Platform API', () => {
  it('unwraps data if it is the only key', () => {
    expect(parse({ data: { name: 'a' } }, contextWith())).toEqual({ name: 'a' });
    expect(catchError({ data: { name: 'a' }, name: '' }).code).toBe('validation_failed');
  });

  it('accepts both spellings of a name; different values are 400', () => {
    expect(parse({ name: 'a', phone_number: '1' }, contextWith())).toEqual({ name: 'a', phoneNumber: '1' });
    expect(parse({ name: 'a', phoneNumber: '1', phone_number: '1' }, contextWith())).toEqual({
      name: 'a',
      phoneNumber: '1',
    });
    expect(catchError({ name: 'a', phoneNumber: '1', phone_number: '2' })).toMatchObject({
      code: 'conflicting_parameters',
      details: [{ path: '/phoneNumber', message: 'differs from phone_number' }],
    });
  });

  it('ignores unknown and read-only fields and returns their pointers', () => {
    const context = contextWith();
    const given = {
      name: 'a',
      colour: 1,
      created_at: 'x',
      contact: { name: 'b', 'a/b~c': 1 },
      points: [{ lat: 1, alt: 2 }],
      attributes: { free: { deep: true } },
    };
    expect(parse(given, context)).toEqual({
      name: 'a',
      contact: { name: 'b' },
      points: [{ lat: 1 }],
      attributes: { free: { deep: true } },
    });
    expect(getIgnoredFields(context)).toEqual(['/contact/a~1b~0c', '/points/0/alt', '/colour', '/created_at']);
    expect(parse({ name: 'a', contact: null }, contextWith())).toEqual({ name: 'a', contact: null });
  });

  it('rejects unknown fields of strict callers', () => {
    expect(catchError({ name: 'a', colour: 1 }, { 'x-strict-body': 'true' })).toMatchObject({
      status: 400,
      code: 'unknown_field',
      details: [{ path: '/colour', message: 'is not known' }],
    });
  });

  it('names a field as it was sent', () => {
    expect(catchError({ name: 'a', phone_number: 7 })).toMatchObject({
      message: 'The field phone_number must be a string.',
      details: [{ path: '/phone_number', message: 'must be a string' }],
    });
    expect(catchError({ name: 'a', phoneNumber: 7 })).toMatchObject({
      message: 'The field phoneNumber must be a string.',
      details: [{ path: '/phoneNumber', message: 'must be a string' }],
    });
  });

  it('counts outer blanks of a text for its maximum length', () => {
    const parse = compileBodyParser(body);
    expect(parse({ name: 'a', note: ` ${'x'.repeat(18)} ` }, contextWith())).toMatchObject({ note: 'x'.repeat(18) });
    expect(() => parse({ name: 'a', note: ` ${'x'.repeat(20)}` }, contextWith())).toThrow('at most 20 characters');
  });

  it('trims text before the check if its schema says so', () => {
    expect(parse({ name: 'a', note: ' \u00a0b c\n', contact: { name: ' d ' } }, contextWith())).toEqual({
      name: 'a',
      note: 'b c',
      contact: { name: ' d ' },
    });
    expect(catchError({ name: 'a', note: ' \t' })).toMatchObject({ message: 'The field note must not be empty.' });
  });

  it('lists every fault, at most twenty', () => {
    expect(catchError({ phoneNumber: 7, points: [{ lat: 'x' }] })).toMatchObject({
      code: 'validation_failed',
      message: 'The field name is missing.',
      details: [
        { path: '/name', message: 'is missing' },
        { path: '/phoneNumber', message: 'must be a string' },
        { path: '/points/0/lat', message: 'must be a number' },
      ],
    });
    expect(catchError({ name: 'a', points: Array.from({ length: 30 }, () => ({})) }).details).toHaveLength(20);
    expect(catchError([]).message).toBe('The body must be an object.');
  });
});
