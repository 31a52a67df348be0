import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A command of a document and its documented output. */
interface ConsoleStep {
  readonly command: string;
  readonly output: string;
}

/** Returns the commands (`$ ...`) of all console blocks of a Markdown text, in order. */
export function parseConsoleSteps(markdown: string): ConsoleStep[] {
  const blocks = [...markdown.matchAll(/^```console\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
  return blocks.flatMap((block) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((step) => {
        const [command = '', ...output] = step.split('\n');
        return { command, output: output.join('\n').trim() };
      }),
  );
}

/**
 * Runs the commands in one shell, in a separate folder, and returns the output of each. Kills what is still running
 * after `limitMs`.
 */
export async function runInShell(commands: readonly string[], timeoutMs: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fleet-doc-'));
  const mark = '=== next command ===';
  const script = commands.map((command) => `${command}\necho; echo '${mark}'\n`).join('');
  const shell = spawn('bash', ['-c', script], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  // Includes the shell's children: a command may be one that waits for something.
  const timeoutTimer = setTimeout(() => {
    if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL');
  }, timeoutMs);
  const chunks: Buffer[] = [];
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  try {
    await new Promise((done, fail) => {
      shell.once('error', fail);
      shell.once('close', done);
    });
    const outputs = Buffer.concat(chunks).toString('utf8').split(`${mark}\n`);
    return outputs.map((output) => output.trim());
  } finally {
    clearTimeout(timeoutTimer);
    rmSync(folder, { recursive: true, force: true });
  }
}

const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/;

/**
 * Reduces output to what is the same in every run: removes ids, times, sizes and file names, and keeps one list entry
 * of each kind.
 */
export function maskVolatile(output: string): unknown {
  try {
    return maskValue(JSON.parse(output));
  } catch {
    // Not JSON: returned unchanged.
    return output;
  }
}

function maskValue(value: unknown, name = ''): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => JSON.stringify(maskValue(item)));
    return [...new Set(items)].toSorted();
  }
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, property]) => [key, maskValue(property, key)]));
  if (typeof value === 'number') return name === 'status' ? value : '<number>';
  if (typeof value !== 'string') return value;
  if (name === 'filename') return '<name>';
  if (time.test(value)) return '<time>';
  return /^[0-9a-f]{24}$/.test(value) ? '<id>' : value;
}
