import { readFileSync } from 'node:fs';
import type { EnvSchema } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { loadConfig, schema } from './config.ts';

const secret = 'a secret for tests alone';

describe('gateway configuration', () => {
  it('requires only the secret', () => {
    expect(loadConfig({ GATEWAY_AUTH_SECRET: secret })).toMatchObject({
      JT808_PORT: 7808,
      REGISTRATION_POLICY: 'open',
    });
    expect(() => loadConfig({})).toThrow('GATEWAY_AUTH_SECRET');
  });

  it('requires a long secret in production', () => {
    const production = { NODE_ENV: 'production', GATEWAY_AUTH_SECRET: secret };
    expect(() => loadConfig(production)).toThrow('32 characters');
    expect(loadConfig({ ...production, GATEWAY_AUTH_SECRET: secret.repeat(2) }).NODE_ENV).toBe('production');
  });

  it('matches the settings table of the README', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const rows = Object.entries<EnvSchema[string]>(schema).map(([name, { default: value, optional, description }]) =>
      [name, String(value ?? (optional === true ? '-' : 'required')), description].join(' | '),
    );
    const written = readme
      .split('\n')
      .filter((line) => /^\| `[A-Z0-9_]+` +\|/.test(line))
      .map((line) =>
        line
          .split('|')
          .slice(1, 4)
          .map((cell) => cell.trim().replaceAll('`', ''))
          .join(' | '),
      );
    expect(written).toEqual(rows);
  });
});
