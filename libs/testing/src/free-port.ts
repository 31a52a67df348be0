import { createServer } from 'node:net';

/** Each worker of a test run has its own ports, so that no other worker uses a port between a kill and a restart. */
const portsPerWorker = 1_700;
const firstPort = 20_000 + ((Number(process.env['JEST_WORKER_ID'] ?? 1) - 1) % 4) * portsPerWorker;
const issuedPorts = new Set<number>();

/**
 * Returns an unused port, each only once. It lies below the range of outgoing connections, so that none uses it while a
 * test's server is down, and outside the product's own ports.
 */
export async function freePort(): Promise<number> {
  if (issuedPorts.size > portsPerWorker / 2) issuedPorts.clear();
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * portsPerWorker);
    if (issuedPorts.has(port) || !(await isFree(port))) continue;
    issuedPorts.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
