import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Type } from 'typebox';
import { AppError } from './errors.ts';
import { compileBody, compileParameters } from './validate.ts';

const query = compileParameters(
  Type.Object({
    id: Type.String({ pattern: '^[a-z]+$', errorMessage: 'must be lower-case letters' }),
    count: Type.Optional(Type.Integer({ minimum: 0, maximum: 255, default: 7 })),
    ratio: Type.Optional(Type.Number()),
    flag: Type.Optional(Type.Boolean()),
    kind: Type.Optional(Type.Integer({ enum: [0, 2] })),
    at: Type.Optional(Type.String({ format: 'date-time' })),
    mask: Type.Optional(Type.Unsafe<bigint>({ type: 'integer', format: 'uint64', minimum: 0 })),
    word: Type.Optional(
      Type.String({ maxLength: 3, errorMessage: (text: unknown) => `is too long with ${String(text).length} letters` }),
    ),
  }),
  'query',
);

describe('compileParameters', () => {
  it('converts text by the schema type, applies defaults and removes unknown parameters', () => {
    expect(query({ id: 'a', ratio: '-1.5', flag: 'true', kind: '2', colour: 'red', id2: ['x', 'y'] })).toEqual({
      id: 'a',
      count: 7,
      ratio: -1.5,
      flag: true,
      kind: 2,
    });
  });

  it.each([
    '',
    ' 1',
    '1 ',
    '1e1',
    '0x1',
    '1.0',
    '+1',
    '--1',
    '1_0',
    '-0',
    '00',
    '01',
    '-01',
    '\u0661',
    '1\n',
    '99999999999999999999',
    'NaN',
  ])('rejects %j as an integer', (count) => {
    expect(() => query({ id: 'a', count })).toThrow(/query parameter count/);
  });

  it('lists every fault; the message is the first of them', () => {
    const refusal = (read: () => unknown): AppError => {
      try {
        read();
      } catch (error) {
        if (error instanceof AppError) return error;
      }
      throw new Error('it was not rejected');
    };
    expect(refusal(() => query({ count: 'x', flag: 'perhaps', mask: '-1' }))).toMatchObject({
      code: 'validation_failed',
      message: 'The query parameter id is missing.',
      details: [
        { path: '/id', message: 'is missing' },
        { path: '/count', message: 'must be integer' },
        { path: '/flag', message: 'must be boolean' },
        { path: '/mask', message: 'must be an integer from 0 to 18446744073709551615' },
      ],
    });
    const many = Array.from({ length: 25 }, (_unused, at) => [`p${at}`, Type.Optional(Type.Integer())] as const);
    const wide = compileParameters(Type.Object(Object.fromEntries(many)), 'query');
    expect(refusal(() => wide(Object.fromEntries(many.map(([name]) => [name, 'x'])))).details).toHaveLength(20);
  });

  it('parses an integer of 64 bits with all its digits', () => {
    expect(query({ id: 'a', mask: '18446744073709551615' })).toEqual({ id: 'a', count: 7, mask: 2n ** 64n - 1n });
    expect(query({ id: 'a', mask: '0' })).toMatchObject({ mask: 0n });
    const other = Type.Unsafe<bigint>({ type: 'integer', format: 'uint64', default: 0 });
    expect(compileParameters(Type.Object({ other: Type.Optional(other) }), 'query')({})).toEqual({ other: 0n });
  });

  it.each(['18446744073709551616', '99999999999999999999', '-1', '-0', '1e3', '0x1', '1.0', '', ' 1', '٣', 'NaN'])(
    'rejects %j as an integer of 64 bits',
    (mask) => {
      expect(() => query({ id: 'a', mask })).toThrow(
        'The query parameter mask must be an integer from 0 to 18446744073709551615.',
      );
    },
  );

  it('uses the error message of the schema', () => {
    expect(() => query({ id: 'a', word: 'long' })).toThrow('The query parameter word is too long with 4 letters.');
  });

  it.each(['', '01.5', '1.', '.5', '+1', '1e', '1e+', '1 ', 'NaN', 'Infinity', '-Infinity', '1e400', '0x1', '1,5'])(
    'rejects %j as a number',
    (ratio) => {
      expect(() => query({ id: 'a', ratio })).toThrow(/query parameter ratio/);
    },
  );

  it.each(['0.30000000000000004', '1e-7', '1E+3', '1.5e-300', '-1.0259699999999998', '123456789012345678901234567890'])(
    'accepts %j as a number',
    (ratio) => {
      expect(query({ id: 'a', ratio })).toMatchObject({ ratio: Number(ratio) });
    },
  );

  it('accepts every finite number in JSON notation', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(finite, (value) => {
        const { ratio } = query({ id: 'a', ratio: JSON.stringify(value) }) as { ratio: number };
        expect(ratio === value).toBe(true);
      }),
    );
  });

  it('accepts a negative zero as a number, such as a longitude', () => {
    expect(query({ id: 'a', ratio: '-0.5' })).toMatchObject({ ratio: -0.5 });
    expect(query({ id: 'a', ratio: '-0.0' })).toMatchObject({ ratio: -0 });
  });

  it.each(['', '1', 'TRUE', 'yes', 'null'])('rejects %j as a boolean', (flag) => {
    expect(() => query({ id: 'a', flag })).toThrow(/query parameter flag/);
  });

  it.each([
    [{}, 'The query parameter id is missing.'],
    [{ id: ['a', 'b'] }, 'The query parameter id is given more than once.'],
    [{ id: 'A' }, 'The query parameter id must be lower-case letters.'],
    [{ id: 'a', count: '256' }, 'The query parameter count must be <= 255.'],
    [{ id: 'a', kind: '1' }, 'The query parameter kind must be equal to one of the allowed values (0, 2).'],
    [{ id: 'a', at: 'today' }, 'The query parameter at must match format "date-time".'],
  ])('rejects %j: %s', (raw, message) => {
    expect(() => query(raw)).toThrow(expect.objectContaining({ status: 400, message }));
  });
});

describe('compileBody', () => {
  const body = compileBody(
    Type.Object({
      text: Type.String({ minLength: 1 }),
      level: Type.Optional(Type.Integer({ default: 3 })),
      options: Type.Optional(Type.Object({ loud: Type.Boolean() })),
      levels: Type.Optional(Type.Array(Type.Object({ at: Type.Integer(), gain: Type.Number() }))),
    }),
  );

  it('keeps unknown fields, applies defaults and converts nothing', () => {
    expect(body({ text: 'x', more: 1 })).toEqual({ text: 'x', more: 1, level: 3 });
    expect(() => body({ text: 'x', level: '3' })).toThrow('The body field level must be integer.');
  });

  it.each([
    [[], 'The body must be object.'],
    [null, 'The body must be object.'],
    [{}, 'The body field text is missing.'],
    [{ text: '' }, 'The body field text must NOT have fewer than 1 characters.'],
    [{ text: 'x', options: { loud: 'yes' } }, 'The body field options.loud must be boolean.'],
    [{ text: 'x', options: {} }, 'The body field options.loud is missing.'],
    [{ text: 'x', level: -0 }, 'The body field level must be an integer, not negative zero.'],
    [
      {
        text: 'x',
        levels: [
          { at: 1, gain: -0 },
          { at: -0, gain: 0 },
        ],
      },
      'The body field levels.1.at must be an integer, not negative zero.',
    ],
    [{ text: 'x', level: Number.POSITIVE_INFINITY }, 'The body field level must be integer.'],
  ])('rejects %j: %s', (value, message) => {
    expect(() => body(value)).toThrow(expect.objectContaining({ status: 400, message }));
  });

  it('returns fields of 64 bits as bigints', () => {
    const alarm = Type.Optional(Type.Unsafe<bigint>({ type: 'integer', format: 'uint64', default: 0 }));
    const flags = compileBody(Type.Object({ alarm }));
    expect([flags({}), flags({ alarm: 5 }), flags({ alarm: 2n ** 64n - 1n })]).toEqual([
      { alarm: 0n },
      { alarm: 5n },
      { alarm: 2n ** 64n - 1n },
    ]);
    for (const invalid of [-1, -0, 1.5, '5', null, 2n ** 64n])
      expect(() => flags({ alarm: invalid })).toThrow(
        'The body field alarm must be an integer from 0 to 18446744073709551615.',
      );
  });
});
