import { createServer, type Server } from 'node:net';
import type { DedicatedHarness, ProductHarness } from './harness.ts';
import { waitFor } from './wait-for.ts';

/** Names of the backends that a start runs itself. */
export type Backend = 'nats' | 'redis' | 'mongodb';

/** A machine under load starts processes slowly. */
const restartTimeoutMs = 60_000;

const getPid = (harness: ProductHarness, name: string): number | undefined => harness.product.runtime.processes[name];

// Errors of the system are no instances of the Error that tests see.
const getErrorCode = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // Gone already: the list of processes is a moment behind.
    if (getErrorCode(error) !== 'ESRCH') throw error;
  }
}

/** Signals one process of the product, by default so that it dies without a word, and gives its id. */
export function killProcess(harness: DedicatedHarness, name: string, signalName: NodeJS.Signals = 'SIGKILL'): number {
  const pid = getPid(harness, name);
  if (pid === undefined) throw new Error(`${name} does not run`);
  signal(pid, signalName);
  return pid;
}

/** Waits until the launcher has started a process again. */
export async function waitForRestart(
  harness: ProductHarness,
  name: string,
  previousPid: number,
  timeoutMs: number = restartTimeoutMs,
): Promise<void> {
  await waitFor(`${name} to be started again`, () => (getPid(harness, name) ?? previousPid) !== previousPid, timeoutMs);
}

/** Waits until every component says that it works. */
export async function waitUntilHealthy(harness: ProductHarness, timeoutMs: number = restartTimeoutMs): Promise<void> {
  const isHealthy = async (): Promise<boolean> => {
    try {
      return (await harness.get('/health')).status === 200;
    } catch {
      // The proxy is away.
      return false;
    }
  };
  await waitFor('the product to be healthy again', isHealthy, timeoutMs);
}

/** A server that takes a port and resets whoever dials it; undefined while the port is another's. */
function holdPort(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.resetAndDestroy();
  });
  // A test that fails before it gives the port back is to end all the same.
  server.unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
  });
}

/**
 * Kills a backend and holds its port, so that it stays away however often the launcher starts it again. `giveBack` lets the next start succeed, and resolves
 * when the product is healthy.
 */
export async function stopBackend(harness: DedicatedHarness, name: Backend): Promise<{ restore(): Promise<void> }> {
  const port = Number(new URL(harness.product.runtime.backends[`${name}_url`]).port);
  const holder = await waitFor(
    `the port of ${name}`,
    () => {
      const pid = getPid(harness, name);
      if (pid !== undefined) signal(pid, 'SIGKILL');
      return holdPort(port);
    },
    restartTimeoutMs,
  );
  return {
    restore: async () => {
      await new Promise<void>((resolve) => holder.close(() => resolve()));
      await waitUntilHealthy(harness);
    },
  };
}
