import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '@fleet/service-kit';
import { SerialQueue } from './serial-queue.ts';

/** What a program may take. */
export interface SandboxLimits {
  readonly timeoutMs: number;
  /** Of its whole process. */
  readonly memoryBytes: number;
  readonly outputBytes: number;
}

const memoryPollIntervalMs = 50;
/** One runs at a time: each takes a processor and much memory. */
const queue = new SerialQueue(8);

/**
 * Runs one of our programs on a file, in a process that has nothing of ours: no settings, no secrets. Its standard output; null where it failed, or took more
 * than it may. 503 `unavailable` where no process can be started, and for work whose signal was aborted before its turn came.
 */
export const runSandboxed = (
  program: URL,
  args: readonly string[],
  input: Buffer,
  limits: SandboxLimits,
  signal: AbortSignal,
): Promise<Buffer | null> => queue.run(() => run(program, args, input, limits), signal);

async function run(
  program: URL,
  args: readonly string[],
  input: Buffer,
  limits: SandboxLimits,
): Promise<Buffer | null> {
  try {
    const child = spawn(process.execPath, ['--max-old-space-size=256', fileURLToPath(program), ...args], {
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    return await collectOutput(child, input, limits);
  } catch (cause) {
    throw new AppError('unavailable', 'Files cannot be read at the moment.', { cause });
  }
}

/** One that could not be started, for want of descriptors, has no streams. */
async function collectOutput(child: ChildProcess, input: Buffer, limits: SandboxLimits): Promise<Buffer | null> {
  // Before all else: an error that nobody listens for ends the service.
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const kill = (): void => void child.kill('SIGKILL');
  const timer = setTimeout(kill, limits.timeoutMs);
  const memoryTimer = setInterval(() => {
    readMemoryBytes(child.pid).then((bytes) => {
      if (bytes > limits.memoryBytes) kill();
    }, kill);
  }, memoryPollIntervalMs);
  // Nobody waits for it when the service ends.
  process.once('exit', kill);
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limits.outputBytes) kill();
      else chunks.push(chunk);
    });
    // It may have ended before it has read all.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    const code = await ended;
    // One that has said its last word may end before it is killed.
    return code === 0 && size <= limits.outputBytes ? Buffer.concat(chunks) : null;
  } finally {
    clearTimeout(timer);
    clearInterval(memoryTimer);
    process.off('exit', kill);
  }
}

/** What a process has in memory now; 0 where the system does not say so (its time is limited all the same), and when it has ended. */
async function readMemoryBytes(pid: number | undefined): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    // There is no such file.
    return 0;
  }
}
