import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ferretDb, isGoRecentEnough, natsServer, sourceFingerprint } from './build-programs.ts';
import { applyPatch } from './source-patch.ts';
import { natsConfig } from './start-backends.ts';

describe('isGoRecentEnough', () => {
  it.each([
    ['go version go1.24 linux/amd64', true],
    ['go version go1.26.8 linux/amd64', true],
    ['go version go2.0 darwin/arm64', true],
    ['go version go1.23.9 linux/amd64', false],
    ['gccgo (Debian) 12.2', false],
  ])('%s: %s', (line, expected) => {
    expect(isGoRecentEnough(line)).toBe(expected);
  });

  it('requires the Go version of the module', () => {
    expect(isGoRecentEnough('go version go1.24.9 linux/amd64', 25)).toBe(false);
    expect(isGoRecentEnough('go version go1.25 linux/amd64', 25)).toBe(true);
  });
});

describe('sourceFingerprint', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'fleet-go-'));
    for (const { folder: overlay } of ferretDb.overlays ?? []) mkdirSync(join(folder, overlay), { recursive: true });
    for (const file of ['go.mod', 'go.sum', 'ferretdb/main.go']) writeFileSync(join(folder, file), file);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('changes with the versions for both programs, and with the sources for the program that has sources', () => {
    const both = (): string[] => [natsServer, ferretDb].map((program) => sourceFingerprint(folder, program));
    const [nats, ferret] = both();
    expect(both()).toEqual([nats, ferret]);
    writeFileSync(join(folder, 'ferretdb/main.go'), 'changed');
    expect(both()[0]).toBe(nats);
    expect(both()[1]).not.toBe(ferret);
    const changed = both()[1];
    writeFileSync(join(folder, 'ferretdb/another.go'), 'added');
    expect(both()[1]).not.toBe(changed);
    const added = both()[1];
    writeFileSync(join(folder, 'ferretdb/store/store.go'), 'added');
    expect(both()[1]).not.toBe(added);
    writeFileSync(join(folder, 'go.mod'), 'changed');
    expect(both()[0]).not.toBe(nats);
  });
});

describe('applyPatch', () => {
  const patch = { module: 'm', file: 'f.go', from: 'a + b', to: 'a - b' };
  it('changes the one matching position', () => expect(applyPatch('x = a + b;', patch)).toBe('x = a - b;'));
  it.each(['x = a * b', 'a + b; a + b'])('refuses %s', (text) =>
    expect(() => applyPatch(text, patch)).toThrow(/patch/),
  );
  it('includes the patch in the fingerprint of a program', () => {
    expect(sourceFingerprint(ferretDb.module, ferretDb)).not.toBe(
      sourceFingerprint(ferretDb.module, { ...ferretDb, patches: [patch] }),
    );
  });
});

describe('natsConfig', () => {
  it('sets sync_interval only for servers that support it', () => {
    expect(natsConfig('nats-server: v2.12.4', '/d')).toContain('sync_interval');
    expect(natsConfig('nats-server: v2.9.10', '/d')).not.toContain('sync_interval');
    expect(natsConfig('', '/d')).not.toContain('sync_interval');
    expect(natsConfig('', '/d')).toContain('max_payload: 8MB');
  });
});
