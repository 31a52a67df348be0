import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '@fleet/service-kit';
import { SerialQueue } from './serial-queue.ts';

/** Limits of a program. */
export interface SandboxLimits {
  readonly timeoutMs: number;
  /** Memory of the whole process. */
  readonly memoryBytes: number;
  readonly outputBytes: number;
}

const memoryPollIntervalMs = 50;
/** Programs run one at a time, because each needs a processor and much memory. */
const queue = new SerialQueue(8);

/**
 * Runs one of our programs on a file in a separate process without our settings and secrets. Returns its standard
 * output, or null if it failed or exceeded a limit. Throws 503 `unavailable` if no process can be started, or if the
 * signal is aborted before the program starts.
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
    throw new AppError('unavailable', 'Files cannot be read at the moment. Retry later.', { cause });
  }
}

/**
 * Passes the input to a process and collects its output. A process that could not be started, for lack of file
 * descriptors, has no streams.
 */
async function collectOutput(child: ChildProcess, input: Buffer, limits: SandboxLimits): Promise<Buffer | null> {
  // Registered first: an `error` event without a listener ends the service.
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
  // Without this, the program would outlive the service.
  process.once('exit', kill);
  try {
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout?.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limits.outputBytes) kill();
      else chunks.push(chunk);
    });
    // The program may end before it has read its whole input.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
    const code = await ended;
    // A program may end after its last output, before it is killed.
    return code === 0 && size <= limits.outputBytes ? Buffer.concat(chunks) : null;
  } finally {
    clearTimeout(timer);
    clearInterval(memoryTimer);
    process.off('exit', kill);
  }
}

/**
 * Returns the resident memory of a process. Returns 0 after it has ended, or if the system does not report it; its time
 * is limited all the same.
 */
async function readMemoryBytes(pid: number | undefined): Promise<number> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    // The file does not exist.
    return 0;
  }
}
