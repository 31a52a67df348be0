import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, jest } from '@jest/globals';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';

// Thousands of schemas on a machine that may be busy.
jest.setTimeout(120_000);

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

interface Content {
  readonly schema: object;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly $ref: string }>>;
}
interface Body {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, Content>>;
}
interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { operationId: string; requestBody?: Body; responses: Record<string, Body> }>>
    >
  >;
  readonly components: {
    readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
    readonly responses: Readonly<Record<string, Body>>;
    readonly schemas: object;
  };
}

const lastName = (reference: string): string => reference.split('/').at(-1) ?? '';

/** Returns the JSON bodies of all requests and responses, each with its example. */
function collectBodies({ paths, components }: Document) {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return operations.flatMap(({ operationId, requestBody, responses }) =>
    Object.entries({ request: requestBody ?? {}, ...responses }).flatMap(([part, body]) => {
      const found = body.$ref === undefined ? body : components.responses[lastName(body.$ref)];
      const content = found?.content?.['application/json'];
      if (content === undefined) return [];
      const [shared] = Object.values(content.examples ?? {});
      const example = shared === undefined ? content.example : components.examples[lastName(shared.$ref)]?.value;
      return [{ name: `${operationId} ${part}`, part, schema: content.schema, example }];
    }),
  );
}

/** Returns the fields of a value at any depth, with their names. */
function collectFields(value: unknown, name = ''): { name: string; value: unknown }[] {
  if (Array.isArray(value)) return value.flatMap((item) => collectFields(item, name));
  if (typeof value !== 'object' || value === null) return [{ name, value }];
  return Object.entries(value).flatMap(([field, part]) => collectFields(part, field));
}

/** Ids that other systems assign. */
const foreignIds = /^(call|device|gateway_order|message|payment|provider_message|response|sender|terminal)_id$/;

/** Returns what is wrong with a field; undefined if nothing is. */
function findFault({ name, value }: { name: string; value: unknown }): string | undefined {
  const text = `${name}: ${JSON.stringify(value)}`;
  if (typeof value === 'number') {
    const largest = /^lat(itude)?$/.test(name) ? 90 : /^(lng|longitude)$/.test(name) ? 180 : Number.POSITIVE_INFINITY;
    return Math.abs(value) <= largest ? undefined : text;
  }
  if (typeof value !== 'string') return undefined;
  if (name.endsWith('_id') && !foreignIds.test(name) && !/^[0-9a-f]{24}$/.test(value)) return text;
  if (name.endsWith('_at') && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value)) return text;
  if (name === 'imei' && !/^(\d{12}|\d{15}|\d{20})$/.test(value)) return text;
  return /lorem|ipsum|\bfoo\b|\bbar\b|^string$|^x+$/i.test(value) ? text : undefined;
}

describe.each([
  'platform-api/openapi.json',
  'device-api/openapi.json',
  'device-api/video-openapi.json',
  'device-api/partner-openapi.json',
])('the JSON bodies of %s', (file) => {
  const document = JSON.parse(readFileSync(resolve(root, 'services', file), 'utf8')) as Document;
  const bodies = collectBodies(document);

  it('each have an example', () => {
    expect(bodies.length).toBeGreaterThan(5);
    expect(bodies.filter(({ example }) => example === undefined).map(({ name }) => name)).toEqual([]);
  });

  it('have examples that their schemas accept', () => {
    const ajv = new Ajv({ strict: false, allErrors: true });
    addFormats.default(ajv);
    ajv.addFormat('uint64', true);
    const validators = new Map<string, ReturnType<Ajv['compile']>>();
    const faults = bodies.flatMap(({ name, schema, example }) => {
      const key = JSON.stringify(schema);
      const validate = validators.get(key) ?? ajv.compile({ ...schema, components: document.components });
      validators.set(key, validate);
      return validate(example) ? [] : [`${name}: ${ajv.errorsText(validate.errors)}`];
    });
    expect(faults).toEqual([]);
  });

  it('have examples with the ids, times and coordinates of real records', () => {
    const faults = bodies.flatMap(({ name, example }) =>
      collectFields(example).flatMap((field) => {
        const fault = findFault(field);
        return fault === undefined ? [] : [`${name}: ${fault}`];
      }),
    );
    expect(faults).toEqual([]);
  });

  it('have examples of errors with the status of their response', () => {
    const errors = bodies.filter(({ part }) => /^[45]/.test(part));
    const others = errors.filter(({ part, example }) => {
      const { status = Number(part) } = example as { status?: number };
      return String(status) !== part;
    });
    expect(errors.length).toBeGreaterThan(0);
    expect(others.map(({ name }) => name)).toEqual([]);
  });
});
