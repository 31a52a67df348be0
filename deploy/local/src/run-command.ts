import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

export interface CommandOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  logFile: string;
  signal?: AbortSignal;
}

/** Runs a program to its end with its output in a log. Resolves with its exit code, or the reason why there is none. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: CommandOptions,
): Promise<number | string> {
  mkdirSync(dirname(options.logFile), { recursive: true });
  const log = openSync(options.logFile, 'a');
  const child = spawn(command, args, {
    env: options.env ?? process.env,
    stdio: ['ignore', log, log],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  closeSync(log);
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('exit', (code, signal) => resolve(code ?? `ended by ${signal}`));
  });
}

/** Returns the output of a program; undefined if it cannot be run or fails. */
export function readOutput(command: string, args: readonly string[]): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.once('error', () => resolve(undefined));
    child.once('close', (code) => resolve(code === 0 ? Buffer.concat(chunks).toString('utf8') : undefined));
  });
}
