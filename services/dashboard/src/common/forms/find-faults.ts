import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema';
import { requestSchemas } from '@fleet/api-client/request-schemas';

/** Rules of a request schema that a field can break. */
const rules = [
  'required',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minimum',
  'maximum',
  'pattern',
  'format',
  'enum',
  'type',
] as const;
type Rule = (typeof rules)[number];

interface FieldFault {
  readonly rule: Rule;
  /** The value of the rule, such as the largest number. */
  readonly limit: string;
}

const isRule = (keyword: string): keyword is Rule => rules.some((rule) => rule === keyword);

/** Returns the faults of a request body by top-level field, by the rules of the OpenAPI document. */
export function findFaults(
  operation: keyof typeof requestSchemas,
  body: Readonly<Record<string, unknown>>,
): Readonly<Record<string, FieldFault>> {
  const schema = requestSchemas[operation] as Schema;
  // An absent value is no value of the body.
  const sent = JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
  const missing = (schema.required ?? []).filter((name) => sent[name] === undefined);
  const { errors } = new Validator(schema, '2020-12', false).validate(sent);
  return {
    ...Object.fromEntries(errors.flatMap((error) => toFault(schema, error)).reverse()),
    ...Object.fromEntries(missing.map((name) => [name, { rule: 'required', limit: '' } as const])),
  };
}

function toFault(schema: Schema, { keyword, keywordLocation, instanceLocation }: OutputUnit): [string, FieldFault][] {
  const field = instanceLocation.split('/')[1];
  if (field === undefined || !isRule(keyword)) return [];
  const limit = keywordLocation
    .split('/')
    .slice(1)
    .reduce<unknown>((part, name) => (part as Record<string, unknown> | undefined)?.[name], schema);
  return [[field, { rule: keyword, limit: typeof limit === 'number' ? String(limit) : '' }]];
}
