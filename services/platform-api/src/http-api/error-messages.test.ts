import {
  AppError,
  compileBodyParser,
  compileParameters,
  describeErrors,
  type RequestContext,
  SentNames,
} from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { type TSchema, Type } from 'typebox';
import { declaredRoutes } from '../assembly/api-document.ts';
import { commandTypes, paramSchemas, parseParams } from '../domains/commands/params.ts';
import { findDuplicatePaths, findValidatorPhrases } from '../testing/validator-phrases.ts';

type RequestSchema = TSchema & {
  readonly type?: string | readonly string[];
  readonly alias?: string;
  readonly trim?: boolean;
  readonly minLength?: number;
  readonly readOnly?: boolean;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly items?: RequestSchema;
  readonly properties?: Readonly<Record<string, RequestSchema>>;
  readonly additionalProperties?: RequestSchema | boolean;
  readonly anyOf?: readonly RequestSchema[];
};

/** Values of every type; each schema rejects most of them. */
const anyValues: readonly unknown[] = [
  7,
  -1,
  1.5,
  1e300,
  '',
  '   ',
  'a\0b',
  '\u00e4 $^',
  true,
  null,
  [],
  [null, null],
  {},
];
const unknownField = { no_such_field: 1 };

/** Returns values that a schema mostly rejects, for every field at any depth. */
function wrongValues(schema: RequestSchema): unknown[] {
  const { maxLength, minimum, maximum, maxItems, items, properties = {}, additionalProperties, anyOf = [] } = schema;
  return [
    ...anyValues,
    unknownField,
    ...(maxLength === undefined || maxLength > 300_000 ? [] : ['x'.repeat(maxLength + 1)]),
    ...(minimum === undefined ? [] : [minimum - 1]),
    ...(maximum === undefined ? [] : [maximum * 2]),
    ...(maxItems === undefined || maxItems > 1000 ? [] : [Array.from({ length: maxItems + 1 }, () => 1)]),
    ...(items === undefined ? [] : wrongValues(items).map((item) => [item])),
    ...Object.entries(properties).flatMap(([name, part]) => wrongFields(name, part)),
    ...(typeof additionalProperties === 'object' ? wrongFields('free', additionalProperties) : []),
    ...anyOf.flatMap(wrongValues),
  ];
}

const wrongFields = (name: string, schema: RequestSchema): object[] =>
  schema.readOnly === true
    ? []
    : wrongValues(schema).flatMap((value) => fieldNames(name, schema).map((each) => ({ [each]: value })));

const fieldNames = (name: string, { alias }: RequestSchema): string[] => [
  name,
  ...(alias === undefined ? [] : [alias]),
];

function captureRefusal(check: () => unknown): AppError | undefined {
  try {
    check();
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Returns the details whose fields the request does not contain under that name. */
const notSent = ({ details }: AppError, sent: unknown): string[] =>
  details
    .filter(({ path, message }) => {
      const parts = path.split('/').slice(1, message === 'is missing' ? -1 : undefined);
      let at: unknown = sent;
      for (const part of parts) {
        if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return true;
        at = (at as Record<string, unknown>)[part];
      }
      return false;
    })
    .map(({ path }) => path);

const nothingWrong = { words: [], twice: [], notSent: [] };

/** Returns the faults of an error; an accepted request has none. */
const findWrongNames = (error: AppError | undefined, sent: unknown) =>
  error === undefined
    ? nothingWrong
    : {
        words: findValidatorPhrases(error.message, error.details),
        twice: findDuplicatePaths(error.details),
        notSent: notSent(error, sent),
      };

const routes = declaredRoutes();

describe('queries of the Platform API', () => {
  const withQuery = routes.flatMap(({ operationId, query }) =>
    query === undefined ? [] : [[operationId, query] as const],
  );
  const texts = [
    '',
    ' ',
    'x',
    '-1',
    '0',
    '01',
    '1.5',
    '1e400',
    '9'.repeat(16),
    '9'.repeat(30),
    'a\0',
    '#$^',
    'x'.repeat(20_000),
  ];

  it.each(withQuery)('%s is rejected in plain words that name the parameter as sent', (_name, query) => {
    const check = compileParameters(query, 'query', describeErrors);
    const parameters = Object.entries(query.properties as Record<string, RequestSchema>);
    let refused = 0;
    for (const [name, schema] of parameters)
      for (const sentName of fieldNames(name, schema))
        for (const value of [...texts, ['1', '2']]) {
          const sent = { [sentName]: value };
          const error = captureRefusal(() => check(sent, new SentNames()));
          if (error !== undefined) refused += 1;
          expect({ sent, ...findWrongNames(error, sent) }).toEqual({ sent, ...nothingWrong });
        }
    expect(refused).toBeGreaterThan(parameters.length === 0 ? -1 : 0);
  });
});

describe('bodies of the Platform API', () => {
  const withBody = routes.flatMap(({ operationId, body }) =>
    body === undefined ? [] : [[operationId, body] as const],
  );
  const contextWith = (isStrict: boolean) =>
    ({ request: { get: () => (isStrict ? 'true' : undefined) } }) as unknown as RequestContext;

  it.each(withBody)('%s is rejected in plain words that name each field once, as sent', (_name, body) => {
    const check = compileBodyParser(body);
    for (const isStrict of [false, true])
      for (const value of wrongValues(body)) {
        const sent: unknown = structuredClone(value);
        const error = captureRefusal(() => check(value, contextWith(isStrict)));
        expect({ sent, ...findWrongNames(error, sent) }).toEqual({ sent, ...nothingWrong });
      }
    const noObject = captureRefusal(() => check([], contextWith(false)));
    expect(noObject?.message).toBe('The body must be an object.');
  });
});

describe('parameters of commands', () => {
  it.each(commandTypes)('%s are rejected in plain words that name each field once', (type) => {
    for (const value of wrongValues(paramSchemas[type])) {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
      const sent = { params: structuredClone(value) };
      const error = captureRefusal(() => parseParams(type, value as Record<string, unknown>));
      expect({ sent, ...findWrongNames(error, sent) }).toEqual({ sent, ...nothingWrong });
    }
  });
});

describe('text fields of bodies', () => {
  const bodies = routes.flatMap(({ operationId, body }) => (body === undefined ? [] : collectTexts(body, operationId)));
  const isNamed = (pattern: RegExp) => bodies.filter(({ name }) => pattern.test(name));

  it('trims text that people read, and never secrets', () => {
    const read = isNamed(/^((\w+_)?name|subject|title|label|notes?|description|address|city|site|make|model)$/).filter(
      ({ at }) => !at.includes('/filters/'),
    );
    expect(read.length).toBeGreaterThan(40);
    expect(read.filter(({ schema }) => schema.trim !== true).map(({ at }) => at)).toEqual([]);
    const secret = isNamed(/password|secret|token|signature|code$/);
    expect(secret.length).toBeGreaterThan(10);
    expect(secret.filter(({ schema }) => schema.trim === true).map(({ at }) => at)).toEqual([]);
  });

  it('treats blank text as empty and rejects it for a minimum length', () => {
    const trimmed = bodies.filter(({ schema }) => schema.trim === true);
    const isEmpty = /^must (not be empty|have \d+ to \d+ characters)$/;
    for (const { at, schema } of trimmed) {
      const check = compileBodyParser(Type.Object({ field: schema }));
      const parse = (field: string) =>
        check({ field }, { request: { get: () => undefined } } as unknown as RequestContext);
      const isRequired = (schema.minLength ?? 0) > 0;
      const blank = captureRefusal(() => parse(' \t\u00a0'))?.details ?? [];
      expect([at, blank.some(({ message }) => isEmpty.test(message))]).toEqual([at, isRequired]);
      expect([at, parse(' ab ')]).toEqual([at, { field: 'ab' }]);
    }
  });
});

/** Returns the text fields of a schema with their names and paths. */
function collectTexts(
  schema: RequestSchema,
  at: string,
  name = '',
): { at: string; name: string; schema: RequestSchema }[] {
  const isText = [schema.type].flat().includes('string') && schema.readOnly !== true && !('enum' in schema);
  return [
    ...(isText ? [{ at, name, schema }] : []),
    ...(schema.items === undefined ? [] : collectTexts(schema.items, `${at}/0`, name)),
    ...(schema.anyOf ?? []).flatMap((part) => collectTexts(part, at, name)),
    ...Object.entries(schema.properties ?? {}).flatMap(([key, part]) => collectTexts(part, `${at}/${key}`, key)),
  ];
}
