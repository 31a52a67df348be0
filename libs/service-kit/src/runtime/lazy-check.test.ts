import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { lazyCheck } from './lazy-check.ts';

describe('a lazy check', () => {
  it('compiles its schema once, at the first value', () => {
    const ajv = new Ajv();
    const schemas: unknown[] = [];
    const compile = ajv.compile.bind(ajv);
    ajv.compile = ((schema: object) => (schemas.push(schema), compile(schema))) as typeof ajv.compile;
    const check = lazyCheck(ajv, { type: 'integer' });
    expect(schemas).toEqual([]);
    expect(check.errors).toBeUndefined();
    expect([check(1), check('1'), check(2)]).toEqual([true, false, true]);
    expect(schemas).toEqual([{ type: 'integer' }]);
  });

  it('has the faults of the last value', () => {
    const check = lazyCheck(new Ajv(), { type: 'integer' });
    check('1');
    expect(check.errors).toEqual([expect.objectContaining({ keyword: 'type', message: 'must be integer' })]);
    check(1);
    expect(check.errors).toBeNull();
  });

  it('throws for an invalid schema when it is compiled', () => {
    const check = lazyCheck(new Ajv(), { type: 'number', minimum: 'one' });
    expect(() => check.compile()).toThrow('schema is invalid');
    expect(() => check(1)).toThrow('minimum');
  });
});
