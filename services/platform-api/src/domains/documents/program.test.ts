import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ProgramLimits, runProgram } from './program.ts';

jest.setTimeout(60_000);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'program-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const generous: ProgramLimits = { timeoutMs: 50_000, memoryBytes: 2 ** 30, outputBytes: 2 ** 20 };
let last = 0;

async function run(code: string, limits: Partial<ProgramLimits> = {}, input = 'some file'): Promise<string | null> {
  last += 1;
  const path = join(folder, `program-${last}.mjs`);
  await writeFile(path, code);
  const output = await runProgram(pathToFileURL(path), ['one', 'two'], Buffer.from(input), { ...generous, ...limits });
  return output === null ? null : output.toString();
}

const readAll = 'const chunks = []; for await (const chunk of process.stdin) chunks.push(chunk);';

describe('runProgram', () => {
  it('hands the file and the arguments over, and answers what is written', async () => {
    const code = `${readAll} process.stdout.write(process.argv.slice(2).join() + ':' + Buffer.concat(chunks));`;
    expect(await run(code)).toBe('one,two:some file');
  });

  it('lends nothing of this process: no settings, no secrets', async () => {
    expect(await run('process.stdout.write(JSON.stringify(process.env));')).toBe('{}');
  });

  it('answers null for a program that fails, also before it has read its file', async () => {
    expect(await run('process.exit(3)', {}, 'x'.repeat(2 ** 20))).toBeNull();
    expect(await run('throw new Error("unreadable")')).toBeNull();
  });

  it('ends a program that takes too long, while it is busy too', async () => {
    expect(await run('for (;;);', { timeoutMs: 300 })).toBeNull();
  });

  it('ends a program that takes too much memory or says too much', async () => {
    // Slowly: whoever watches may be late on a busy machine.
    const hoard = 'const kept = []; setInterval(() => kept.push(Buffer.alloc(16 * 2 ** 20, 1)), 50);';
    expect(await run(hoard, { memoryBytes: 256 * 2 ** 20 })).toBeNull();
    const babble = 'const say = () => process.stdout.write("x".repeat(65536), say); say();';
    expect(await run(babble)).toBeNull();
  });
});
