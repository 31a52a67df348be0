import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Express, Router } from 'express';
import type { Lifecycle } from './lifecycle.ts';
import type { Registry } from './metrics.ts';

/** What `/readyz` asks: name and check of each thing that must work before traffic may come. */
export type ReadinessChecks = Readonly<Record<string, () => boolean | Promise<boolean>>>;

/** The routes that every service has: `/livez` (the event loop answers), `/readyz` (not draining, connected) and `/metrics`. */
export function adminRoutes(lifecycle: Lifecycle, metrics: Registry, checks: ReadinessChecks): Router {
  const router = Router();
  router.get('/livez', (_request, response) => {
    response.json({ live: true });
  });
  router.get('/readyz', async (_request, response) => {
    const entries = await Promise.all(
      Object.entries(checks).map(async ([name, check]) => [name, await settled(check)] as const),
    );
    const ready = !lifecycle.isStopping && entries.every(([, ok]) => ok);
    response
      .status(ready ? 200 : 503)
      .json({ ready, draining: lifecycle.isStopping, checks: Object.fromEntries(entries) });
  });
  router.get('/metrics', async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.metrics());
  });
  return router;
}

async function settled(check: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await check();
  } catch {
    // A check that throws is a check that failed; its own part logs why.
    return false;
  }
}

/** Listens with an app; the answer knows the real port and closes the server with its idle connections. */
export async function listen(
  app: Express | RequestListener,
  options: { host: string; port: number; configure?: (server: Server) => void },
): Promise<{ server: Server; port: number; close(): Promise<void> }> {
  const server = createServer(app);
  options.configure?.(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    server,
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}
