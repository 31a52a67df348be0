import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Returns an unused port above the range of outgoing connections, so that none takes it while a process starts. */
export async function freePort(...others: readonly number[]): Promise<number> {
  for (;;) {
    const port = randomInt(61_000, 65_536);
    if (!others.includes(port) && (await isFree(port))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', () => done(false));
    server.listen(port, '127.0.0.1', () => server.close(() => done(true)));
  });
}
