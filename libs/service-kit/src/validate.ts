import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { TObject, TSchema } from 'typebox';
import { AppError } from './errors.ts';

// verbose: the sentence for the caller may stand in the schema (errorMessage).
const ajv = new Ajv({ allErrors: false, useDefaults: true, strict: false, verbose: true });
addFormats.default(ajv);

/** Compiles a check that fills in defaults and answers the value, or throws a 400 whose sentence names the faulty part. */
export function compileBody(schema: TSchema): (value: unknown) => unknown {
  const check = ajv.compile(schema);
  return (value) => {
    if (check(value)) return value;
    throw new AppError('validation_failed', sentence('The body', 'body field', firstError(check)));
  };
}

/**
 * Compiles a check for query or path parameters: text becomes integers and booleans by the schema's type alone (no `1e2`, no blanks),
 * a parameter given twice is refused, unknown ones are left out.
 */
export function compileParameters(
  schema: TObject,
  kind: 'query' | 'path',
): (raw: Readonly<Record<string, unknown>>) => unknown {
  const check = ajv.compile(schema);
  const properties = Object.entries(schema.properties as Record<string, TSchema & { type?: string }>);
  return (raw) => {
    const value: Record<string, unknown> = {};
    for (const [name, property] of properties) {
      const text = raw[name];
      if (text === undefined) continue;
      if (typeof text !== 'string')
        throw new AppError('validation_failed', `The ${kind} parameter ${name} is given more than once.`);
      value[name] = fromText(property, text);
    }
    if (check(value)) return value;
    throw new AppError('validation_failed', sentence('The request', `${kind} parameter`, firstError(check)));
  };
}

function fromText(schema: TSchema & { type?: string }, text: string): unknown {
  if (schema.type === 'integer') return /^-?\d{1,15}$/.test(text) ? Number(text) : text;
  if (schema.type === 'number') return /^-?\d{1,15}(\.\d{1,15})?$/.test(text) ? Number(text) : text;
  if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

const firstError = (check: ValidateFunction): ErrorObject | undefined => check.errors?.[0];

function sentence(whole: string, part: string, error: ErrorObject | undefined): string {
  if (error === undefined) return `${whole} is invalid.`;
  if (error.keyword === 'required') return `The ${part} ${String(error.params['missingProperty'])} is missing.`;
  const name = error.instancePath.slice(1).replaceAll('/', '.');
  const subject = name === '' ? whole : `The ${part} ${name}`;
  const described = (error.parentSchema as { errorMessage?: string } | undefined)?.errorMessage;
  const allowed = error.params['allowedValues'] as readonly unknown[] | undefined;
  const list = allowed === undefined ? '' : ` (${allowed.map(String).join(', ')})`;
  return `${subject} ${described ?? `${error.message ?? 'is invalid'}${list}`}.`;
}
