import { Ajv } from 'ajv';
import { tracingSettings } from '../tracing/tracing-settings.ts';

/** One environment variable: a JSON Schema fragment with default, description and whether logs hide its value. */
interface EnvVariable {
  readonly type: 'string' | 'integer' | 'boolean';
  readonly default?: string | number | boolean;
  readonly optional?: true;
  readonly secret?: true;
  /** The name in earlier releases, which still works for one release and logs a warning. */
  readonly formerName?: string;
  readonly description: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly pattern?: string;
  readonly enum?: readonly string[];
}

/** Environment of a service, by variable name. */
export type EnvSchema = Readonly<Record<string, EnvVariable>>;

type ValueOf<V extends EnvVariable> = V['type'] extends 'integer'
  ? number
  : V['type'] extends 'boolean'
    ? boolean
    : V['enum'] extends readonly (infer E)[]
      ? E
      : string;

/** Typed settings of a schema; optional variables without a default may be undefined. */
export type ConfigOf<S extends EnvSchema> = {
  readonly [K in keyof S]: S[K] extends { optional: true } ? ValueOf<S[K]> | undefined : ValueOf<S[K]>;
};

/** Preserves the literal types of an environment schema. */
export const envSchema = <const S extends EnvSchema>(schema: S): S => schema;

/** Thrown when the configuration of a service is invalid; `message` lists every fault. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

/** Returns the error for settings that are invalid, or that contradict each other. */
export const invalidConfigError = (faults: readonly string[]): ConfigError =>
  new ConfigError(`The configuration is invalid: ${faults.join('; ')}.`);

/**
 * Parses and validates all variables of a schema; throws one ConfigError with every fault. Pure: tests pass a plain
 * object.
 */
export function readEnv<S extends EnvSchema>(
  schema: S,
  env: Readonly<Record<string, string | undefined>>,
): ConfigOf<S> {
  // The schemas are typed: validating them against the meta-schema would take a tenth of a service's start.
  const ajv = new Ajv({ allErrors: true, validateSchema: false });
  const faults: string[] = [];
  const values: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(schema)) {
    const raw = readVariable(env, name, variable.formerName);
    if (raw === undefined || raw === '') {
      if (variable.default !== undefined) values[name] = variable.default;
      else if (variable.optional !== true) faults.push(`${name} is required (${variable.description})`);
      continue;
    }
    const value = coerce(variable.type, raw);
    const {
      default: _default,
      optional: _optional,
      secret: _secret,
      formerName: _former,
      description,
      ...rules
    } = variable;
    if (ajv.validate(rules, value)) values[name] = value;
    else {
      const displayedValue = variable.secret === true ? 'its value' : JSON.stringify(raw);
      faults.push(`${name} (${description}): ${displayedValue} ${ajv.errorsText(ajv.errors, { dataVar: '' }).trim()}`);
    }
  }
  if (faults.length > 0) throw invalidConfigError(faults);
  return values as ConfigOf<S>;
}

function readVariable(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  formerName: string | undefined,
): string | undefined {
  const raw = env[name];
  if ((raw !== undefined && raw !== '') || formerName === undefined) return raw;
  const formerRaw = env[formerName];
  if (formerRaw !== undefined && formerRaw !== '')
    process.emitWarning(`${formerName} is now ${name}; the former name will not work in the next release`, {
      type: 'DeprecationWarning',
      code: `RENAMED_${formerName}`,
    });
  return formerRaw;
}

function coerce(type: EnvVariable['type'], raw: string): unknown {
  if (type === 'integer') return /^-?\d{1,15}$/.test(raw) ? Number(raw) : raw;
  if (type === 'boolean') return raw === 'true' || raw === '1' ? true : raw === 'false' || raw === '0' ? false : raw;
  return raw;
}

/** Returns the settings for logs: secrets only as "set". */
export function redactConfig<S extends EnvSchema>(schema: S, config: ConfigOf<S>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([name, variable]) => {
      const value = (config as Record<string, unknown>)[name];
      if (value !== undefined && variable.secret === true) return [name, 'set'];
      // A connection URL may contain a password, in each of several; a comma may be part of it.
      if (typeof value === 'string' && /_(?:URL|ENDPOINT)$/.test(name))
        return [name, value.replace(/\/\/[^/?#\s]*@/g, '//***@').replace(/(password=)[^&#\s]*/gi, '$1***')];
      return [name, value];
    }),
  );
}

/** Returns true if only this machine can reach the address to which a service binds. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);

/** Settings of all services. */
export const commonEnv = envSchema({
  NODE_ENV: { type: 'string', default: 'development', description: 'production rejects development settings' },
  HOST: { type: 'string', default: '127.0.0.1', description: 'bind address of all ports' },
  POD_ID: {
    type: 'string',
    optional: true,
    pattern: '^[A-Za-z0-9_-]{1,63}$',
    description: 'name of this process, unique in the cluster; generated if absent',
  },
  LOG_LEVEL: {
    type: 'string',
    default: 'info',
    enum: ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
    description: 'lowest logged level',
  },
  NATS_URL: { type: 'string', default: 'nats://127.0.0.1:14222', description: 'NATS servers, separated by commas' },
  REDIS_URL: {
    type: 'string',
    default: 'redis://127.0.0.1:16379',
    description:
      'Redis server, redis+sentinel://host:port,host:port/master-name or redis+cluster://host:port,host:port; rediss instead of redis for TLS',
  },
  MONGODB_URL: {
    type: 'string',
    default: 'mongodb://127.0.0.1:27117/fleet',
    description: 'MongoDB server with the database name as path',
  },
  ...tracingSettings,
});
