import { readdirSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

interface Compilable {
  compile(): void;
}
const isCheck = (value: unknown): value is Compilable => typeof value === 'function' && 'compile' in value;

/** Returns the validators that a module exports: contracts have two, events one, and some are exported alone. */
function findChecks(value: unknown): Compilable[] {
  if (isCheck(value)) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap((part) => (isCheck(part) ? [part] : []));
}

describe('the contracts of the bus', () => {
  it('have schemas that compile, although a service compiles each at its first message', async () => {
    const files = readdirSync(import.meta.dirname).filter((file) => /^[a-z-]+\.ts$/.test(file));
    const checks: Compilable[] = [];
    for (const file of files) checks.push(...Object.values((await import(`./${file}`)) as object).flatMap(findChecks));
    expect(checks.length).toBeGreaterThan(60);
    for (const check of checks) expect(() => check.compile()).not.toThrow();
  });
});
