import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import * as jt808 from './index.ts';

const readme = readFileSync(resolve(import.meta.dirname, '../README.md'), 'utf8');
const example = /```ts\n([\s\S]*?)```/.exec(readme)?.[1] ?? '';

it('the example of the README runs and prints the stated output', () => {
  const [code = '', ...comments] = example.split('\n// prints:\n');
  const printed: string[] = [];
  const names =
    /import \{([^}]*)\}/
      .exec(code)?.[1]
      ?.split(',')
      .map((name) => name.trim())
      .filter(Boolean) ?? [];
  const available = jt808 as unknown as Readonly<Record<string, unknown>>;
  // The text of the README, with its imports passed in.
  const body = code.replace(/import [^;]*;/, '');
  const run = Reflect.construct(Function, [...names, 'console', body]) as (...values: unknown[]) => void;
  run(...names.map((name) => available[name]), { log: (value: unknown) => printed.push(JSON.stringify(value)) });
  expect(printed).toEqual(
    comments
      .join('')
      .trim()
      .split('\n')
      .map((line) => line.replace('// ', '')),
  );
});
