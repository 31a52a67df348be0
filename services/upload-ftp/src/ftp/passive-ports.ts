import { createServer } from 'node:net';
import { FtpError } from './ftp-error.ts';

/** ftp-srv binds the port shortly after it was found free, so the port stays reserved for this time. */
const reservationTtlMs = 2_000;

/** Creates a function that finds a free passive port in the whole range. ftp-srv's own search gives up after five. */
export function createPassivePortFinder(
  host: string,
  range: { readonly min: number; readonly max: number },
  onExhausted: () => void,
): () => Promise<number> {
  const reserved = new Set<number>();
  let next = range.min;
  return async () => {
    for (let attempts = range.max - range.min + 1; attempts > 0; attempts -= 1) {
      const port = next;
      next = port >= range.max ? range.min : port + 1;
      if (reserved.has(port)) continue;
      reserved.add(port);
      if (await isFree(host, port)) {
        setTimeout(() => reserved.delete(port), reservationTtlMs).unref();
        return port;
      }
      reserved.delete(port);
    }
    onExhausted();
    throw new FtpError(425, 'No free data port, try again');
  };
}

function isFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}
