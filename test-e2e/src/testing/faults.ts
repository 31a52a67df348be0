import { createServer, type Server } from 'node:net';
import { until } from './until.ts';
import type { OwnWorld, World } from './world.ts';

/** Names of the backends that a start runs itself. */
export type Backend = 'nats' | 'redis' | 'mongodb';

/** A machine under load starts processes slowly. */
const restartLimitMs = 60_000;

const pidOf = (world: World, name: string): number | undefined => world.product.runtime.processes[name];

// Errors of the system are no instances of the Error that tests see.
const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    // Gone already: the list of processes is a moment behind.
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

/** Signals one process of the product, by default so that it dies without a word, and gives its id. */
export function kill(world: OwnWorld, name: string, how: NodeJS.Signals = 'SIGKILL'): number {
  const pid = pidOf(world, name);
  if (pid === undefined) throw new Error(`${name} does not run`);
  signal(pid, how);
  return pid;
}

/** Waits until the launcher has started a process anew. */
export async function restarted(
  world: World,
  name: string,
  formerPid: number,
  limitMs: number = restartLimitMs,
): Promise<void> {
  await until(`${name} to be started again`, () => (pidOf(world, name) ?? formerPid) !== formerPid, limitMs);
}

/** Waits until every component says that it works. */
export async function healthy(world: World, limitMs: number = restartLimitMs): Promise<void> {
  const isHealthy = async (): Promise<boolean> => {
    try {
      return (await world.get('/health')).status === 200;
    } catch {
      // The proxy is away.
      return false;
    }
  };
  await until('the product to be healthy again', isHealthy, limitMs);
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
export async function takeAway(world: OwnWorld, name: Backend): Promise<{ giveBack(): Promise<void> }> {
  const port = Number(new URL(world.product.runtime.backends[`${name}_url`]).port);
  const holder = await until(
    `the port of ${name}`,
    () => {
      const pid = pidOf(world, name);
      if (pid !== undefined) signal(pid, 'SIGKILL');
      return holdPort(port);
    },
    restartLimitMs,
  );
  return {
    giveBack: async () => {
      await new Promise<void>((resolve) => holder.close(() => resolve()));
      await healthy(world);
    },
  };
}
