import { spawn } from 'node:child_process';
import { resolve } from 'node:path';

interface CommandResult {
  readonly code: number | null;
  readonly output: string;
}

interface CommandOptions {
  readonly dataDir: string;
  /** Moves the ports of the stores that the command starts itself. */
  readonly portOffset: number;
}

/** Runs `npm run backup` or `npm run restore` without the build, and returns its output. */
export function runBackup(args: readonly string[], { dataDir, portOffset }: CommandOptions): Promise<CommandResult> {
  const child = spawn(process.execPath, [resolve('deploy/local/dist/backup-main.js'), ...args], {
    env: { ...process.env, DATA_DIR: dataDir, PORT_OFFSET: String(portOffset) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code) => done({ code, output: chunks.join('') }));
  });
}
