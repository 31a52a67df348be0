import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from './service-settings.ts';

/** A container of compose.yaml. */
export interface ComposeService {
  readonly image?: string;
  readonly build?: { readonly args: { readonly SERVICE: string } };
  readonly environment?: Readonly<Record<string, string | number>>;
  readonly ports?: readonly string[];
  readonly networks?: readonly string[] | Readonly<Record<string, { readonly ipv4_address?: string }>>;
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>;
  readonly healthcheck?: object;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
}

/** Reads compose.yaml with its anchors merged. */
export function readComposeFile(): Readonly<Record<string, ComposeService>> {
  const text = readFileSync(join(root, 'deploy', 'compose.yaml'), 'utf8');
  return (parse(text, { merge: true }) as { services: Record<string, ComposeService> }).services;
}

/**
 * Replaces the references to variables in a value, as compose does: `${NAME:-default}` and `${NAME:?message}`. Returns
 * the value of `variables` for a required one.
 */
export const interpolate = (value: string | number, variables: Readonly<Record<string, string>>): string =>
  String(value).replaceAll(/\$\{(\w+):([-?])([^}]*)\}/g, (_whole, name: string, operator: string, text: string) => {
    const given = variables[name];
    if (given === undefined && operator === '?') throw new Error(`${name} needs a value: ${text}`);
    return given ?? text;
  });
