import { createServer, type Server } from 'node:net';
import { waitFor } from '@fleet/testing';
import type { DedicatedHarness, ProductHarness } from './harness.ts';

/** Names of the backends that a start runs itself. */
export type Backend = 'nats' | 'redis' | 'mongodb';

/** A machine under load starts processes slowly. */
const restartTimeoutMs = 60_000;

const getPid = (harness: ProductHarness, name: string): number | undefined => harness.product.runtime.processes[name];

// System errors are not instances of the Error class of the test realm.
const getErrorCode = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // Already exited: the list of processes is updated with a delay.
    if (getErrorCode(error) !== 'ESRCH') throw error;
  }
}

/** Sends a signal to one process of the product, SIGKILL by default, and returns its id. */
export function killProcess(harness: DedicatedHarness, name: string, signalName: NodeJS.Signals = 'SIGKILL'): number {
  const pid = getPid(harness, name);
  if (pid === undefined) throw new Error(`${name} does not run`);
  signal(pid, signalName);
  return pid;
}

/** Waits until the launcher has restarted a process. */
export async function waitForRestart(
  harness: ProductHarness,
  name: string,
  previousPid: number,
  timeoutMs: number = restartTimeoutMs,
): Promise<void> {
  await waitFor(() => (getPid(harness, name) ?? previousPid) !== previousPid, `${name} to be restarted`, timeoutMs);
}

/** Waits until every component reports that it is healthy. */
export async function waitUntilHealthy(harness: ProductHarness, timeoutMs: number = restartTimeoutMs): Promise<void> {
  const isHealthy = async (): Promise<boolean> => {
    try {
      return (await harness.get('/health')).status === 200;
    } catch {
      // The proxy is unavailable.
      return false;
    }
  };
  await waitFor(isHealthy, 'the product to be healthy again', timeoutMs);
}

/** Listens on a port and resets all connections; returns undefined while another process uses the port. */
function holdPort(port: number): Promise<Server | undefined> {
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.resetAndDestroy();
  });
  // A test that fails before it releases the port can still exit.
  server.unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ host: '127.0.0.1', port }, () => resolve(server));
  });
}

/**
 * Kills a backend and holds its port, so that it stays unavailable although the launcher restarts it. `restore` lets
 * the next start succeed and resolves when the product is healthy.
 */
export async function stopBackend(harness: DedicatedHarness, name: Backend): Promise<{ restore(): Promise<void> }> {
  const port = Number(new URL(harness.product.runtime.backends[`${name}_url`]).port);
  const holder = await waitFor(
    () => {
      const pid = getPid(harness, name);
      if (pid !== undefined) signal(pid, 'SIGKILL');
      return holdPort(port);
    },
    `the port of ${name}`,
    restartTimeoutMs,
  );
  return {
    restore: async () => {
      await new Promise<void>((resolve) => holder.close(() => resolve()));
      await waitUntilHealthy(harness);
    },
  };
}
