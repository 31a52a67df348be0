import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Folder of the repository. */
export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** One setting of a service, as in `envSchema` of libs/service-kit. */
interface Setting {
  readonly type: string;
  readonly default?: string | number | boolean;
  readonly optional?: true;
  readonly secret?: true;
  readonly description: string;
}

interface ServiceSettings {
  /** Settings by service and name. */
  readonly services: Readonly<Record<string, Readonly<Record<string, Setting>>>>;
  /** Processes of a local start, with the variables that it sets. */
  readonly processes: readonly {
    readonly name: string;
    readonly service: string;
    readonly variables: readonly string[];
  }[];
}

/** The environment of a process. */
interface ServiceEnvironment {
  readonly service: string;
  readonly env: Readonly<Record<string, string>>;
}

const script = 'scripts/service-settings.mjs';
const run = (args: readonly string[], input = ''): string =>
  execFileSync(process.execPath, [script, ...args], { cwd: root, encoding: 'utf8', input, maxBuffer: 1e8 });

/** Returns the settings of all services, from their compiled schemas. */
export const readServiceSettings = (): ServiceSettings => JSON.parse(run([])) as ServiceSettings;

/** Loads the configuration of a service from each environment; returns the faults, null for none. */
export const findConfigFaults = (environments: readonly ServiceEnvironment[]): (string | null)[] =>
  JSON.parse(run(['--check'], JSON.stringify(environments))) as (string | null)[];
