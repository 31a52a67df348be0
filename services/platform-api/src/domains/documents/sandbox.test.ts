import { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { runSandboxed, type SandboxLimits } from './sandbox.ts';

jest.setTimeout(60_000);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'program-'));
});
afterEach(() => {
  jest.restoreAllMocks();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const generous: SandboxLimits = { timeoutMs: 50_000, memoryBytes: 2 ** 30, outputBytes: 2 ** 20 };
const never = new AbortController().signal;
let last = 0;

async function run(code: string, limits: Partial<SandboxLimits> = {}, input = 'some file'): Promise<string | null> {
  last += 1;
  const path = join(folder, `program-${last}.mjs`);
  await writeFile(path, code);
  const allowed = { ...generous, ...limits };
  const output = await runSandboxed(pathToFileURL(path), ['one', 'two'], Buffer.from(input), allowed, never);
  return output === null ? null : output.toString();
}

const readAll = 'const chunks = []; for await (const chunk of process.stdin) chunks.push(chunk);';

describe('runSandboxed', () => {
  it('passes the file and the arguments, and returns the output', async () => {
    const code = `${readAll} process.stdout.write(process.argv.slice(2).join() + ':' + Buffer.concat(chunks));`;
    expect(await run(code)).toBe('one,two:some file');
  });

  it('passes no environment variables, so no settings and no secrets', async () => {
    expect(await run('process.stdout.write(JSON.stringify(process.env));')).toBe('{}');
  });

  it('returns null for a program that fails, even before it has read its file', async () => {
    expect(await run('process.exit(3)', {}, 'x'.repeat(2 ** 20))).toBeNull();
    expect(await run('throw new Error("unreadable")')).toBeNull();
  });

  it('kills a program that runs too long, even while it is busy', async () => {
    expect(await run('for (;;);', { timeoutMs: 300 })).toBeNull();
  });

  it('kills a program that needs too much memory', async () => {
    // The program would end successfully by itself, so null is an effect of the limit.
    const hoard = 'const kept = Buffer.alloc(384 * 2 ** 20, 1); setTimeout(() => kept.length, 20_000);';
    expect(await run(hoard, { memoryBytes: 192 * 2 ** 20 })).toBeNull();
    expect(await run('const kept = Buffer.alloc(2 ** 20, 1); setTimeout(() => kept.length, 200);')).toBe('');
  });

  it('kills a program with too much output, even by one byte', async () => {
    const say = (bytes: number): string => `process.stdout.write('x'.repeat(${bytes}));`;
    expect(await run(say(8 * 2 ** 20))).toBeNull();
    expect(await run(say(1001), { outputBytes: 1000 })).toBeNull();
    expect(await run(say(1000), { outputBytes: 1000 })).toBe('x'.repeat(1000));
  });

  it('kills its program when this process ends', async () => {
    const before = process.listeners('exit');
    const running = run('setTimeout(() => undefined, 20_000);');
    const added = (): NodeJS.ExitListener[] => process.listeners('exit').filter((each) => !before.includes(each));
    await waitFor(() => added().length === 1);
    for (const listener of added()) listener(0);
    expect(await running).toBeNull();
    expect(process.listeners('exit')).toEqual(before);
  });

  it('responds 503 if the program cannot be started, and reads the next file', async () => {
    const real = process.execPath;
    const refused = { code: 'unavailable', status: 503 };
    try {
      process.execPath = join(folder, 'no-such-program');
      await expect(run(readAll)).rejects.toMatchObject({ ...refused, cause: { code: 'ENOENT' } });
    } finally {
      process.execPath = real;
    }
    // Simulates Node without file descriptors (EMFILE): no streams, and an asynchronous error.
    const prototype = ChildProcess.prototype as ChildProcess & { spawn(options: object): number };
    const spawn = jest.spyOn(prototype, 'spawn').mockImplementation(function (this: ChildProcess) {
      process.nextTick(() => this.emit('error', Object.assign(new Error('spawn EMFILE'), { code: 'EMFILE' })));
      return -24;
    });
    await expect(run(readAll)).rejects.toMatchObject({ ...refused, cause: { code: 'EMFILE' } });
    spawn.mockRestore();
    expect(await run(`${readAll} process.stdout.write('read');`)).toBe('read');
  });
});
