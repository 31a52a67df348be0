import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { defineRoute } from '../http/route.ts';
import { compileSchemas } from './compile-schemas.ts';

const route = (parts: object) =>
  defineRoute({ method: 'post', path: '/', summary: '', handle: async () => undefined, ...parts } as never);

describe('the compilation of a route', () => {
  it('accepts valid schemas, whatever they require', () => {
    const needsName = Type.Object({ name: Type.String() });
    expect(() => compileSchemas(route({ query: needsName, params: needsName, body: needsName }))).not.toThrow();
  });

  it.each(['query', 'params', 'body'])('throws if the schema of %s is invalid', (part) => {
    const wrong = Type.Object({ name: Type.Unsafe<string>({ type: 'text' }) });
    expect(() => compileSchemas(route({ [part]: wrong }))).toThrow('schema is invalid');
  });
});
