import type { Ajv, AnySchema, ErrorObject, ValidateFunction } from 'ajv';

/** Validates a value against a schema. */
export interface SchemaCheck {
  (value: unknown): boolean;
  /** Faults of the last value. */
  readonly errors: ErrorObject[] | null | undefined;
  /** Compiles the schema now; throws if it is invalid. */
  compile(): void;
}

/**
 * Returns a validator that compiles its schema at the first call: compiling every schema took half of a service's
 * start.
 */
export function lazyCheck(ajv: Ajv, schema: AnySchema): SchemaCheck {
  let compiled: ValidateFunction | undefined;
  const compile = (): ValidateFunction => (compiled ??= ajv.compile(schema));
  const check = (value: unknown): boolean => compile()(value);
  return Object.defineProperties(check, {
    errors: { get: () => compiled?.errors },
    compile: { value: () => void compile() },
  }) as SchemaCheck;
}
