import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { launcherScript } from './paths.ts';
import { claimFreeOffset } from './ports.ts';
import { type Runtime, readRuntime } from './runtime-file.ts';

interface StartProductOptions {
  /** Default: a free offset. */
  portOffset?: number;
  /** Default: a temporary folder, deleted at the stop. */
  dataDir?: string;
  /** Default: false. */
  simulator?: boolean;
  /** Settings of the services, which override this process's environment. */
  env?: NodeJS.ProcessEnv;
  /** Default: two minutes. */
  timeoutMs?: number;
}

/** A running product. */
export interface ProductView {
  /** Read from the runtime file at each access, because process ids change with restarts. */
  readonly runtime: Runtime;
  readonly dataDir: string;
}

export interface RunningProduct extends ProductView {
  /** Returns the output of the launcher so far. */
  output(): string;
  stop(): Promise<void>;
}

const pollMs = 50;
const stopTimeoutMs = 40_000;

async function stopLauncher(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill('SIGTERM');
  const killer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
  await ended;
  clearTimeout(killer);
}

/** A program that claims no ports may bind one while the product starts. */
const maxStarts = 3;
const portTaken = /is taken: stop the program that uses it|EADDRINUSE/;

/** Starts a separate product for tests or measurements. It also stops when the calling process exits. */
export async function startProduct(options: StartProductOptions = {}): Promise<RunningProduct> {
  if (!existsSync(launcherScript)) throw new Error('The launcher is not built. Run npm run build first.');
  if (options.portOffset !== undefined) return startOnce(options, options.portOffset);
  for (let starts = 1; ; starts += 1) {
    const { offset, release } = await claimFreeOffset();
    try {
      return await startOnce(options, offset);
    } catch (error) {
      if (starts === maxStarts || !portTaken.test((error as Error).message)) throw error;
    } finally {
      await release();
    }
  }
}

async function startOnce(options: StartProductOptions, portOffset: number): Promise<RunningProduct> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'fleet-'));
  const simulator = options.simulator === true ? [] : ['--no-simulator'];
  const child = spawn(process.execPath, ['--enable-source-maps', launcherScript, '--stop-with-stdin', ...simulator], {
    env: { ...process.env, HOST: '127.0.0.1', ...options.env, DATA_DIR: dataDir, PORT_OFFSET: String(portOffset) },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => chunks.push(text));
  const output = (): string => chunks.join('');
  const stop = async (): Promise<void> => {
    await stopLauncher(child);
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };

  const deadline = performance.now() + (options.timeoutMs ?? 120_000);
  let latest = readRuntime(dataDir);
  while (latest === undefined || latest.pid !== child.pid) {
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (ended || performance.now() > deadline) {
      await stop();
      throw new Error(`The product did not start:\n${output()}`);
    }
    await sleep(pollMs);
    latest = readRuntime(dataDir);
  }
  const view = viewProduct(dataDir);
  return {
    get runtime() {
      return view.runtime;
    },
    dataDir,
    output,
    stop,
  };
}

/** Returns a view of the running product with this data folder; throws if there is none. */
export function viewProduct(dataDir: string): ProductView {
  const first = readRuntime(dataDir);
  if (first === undefined) throw new Error(`No product runs in ${dataDir}.`);
  let lastSeen: Runtime = first;
  return {
    get runtime() {
      lastSeen = readRuntime(dataDir) ?? lastSeen;
      return lastSeen;
    },
    dataDir,
  };
}
