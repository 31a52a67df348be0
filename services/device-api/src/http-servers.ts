import type { Server } from 'node:http';
import { listen } from '@fleet/service-kit';
import { serveWebsockets } from '@fleet/service-kit/websocket';
import type { Express } from 'express';
import type { Config } from './config.ts';

/** Remaining time for connections to close after their requests were aborted. */
const closeTimeoutMs = 2_000;

type ListeningServer = Awaited<ReturnType<typeof listen>>;

/**
 * Manages the HTTP servers of both APIs. They stop together: open requests have `STOP_GRACE_MS`, then they are aborted.
 */
export class HttpServers {
  readonly #config: Config;
  readonly #abortRequests: () => void;
  readonly #servers: ListeningServer[] = [];

  constructor(config: Config, abortRequests: () => void) {
    this.#config = config;
    this.#abortRequests = abortRequests;
  }

  /** Starts a server and returns its port. */
  async listen(app: Express, port: number): Promise<number> {
    return (await this.#listen(app, port)).port;
  }

  async listenWithWebsockets(app: Express, port: number): Promise<number> {
    const listening = await this.#listen(app, port);
    serveWebsockets(listening.server, app);
    return listening.port;
  }

  async stop(): Promise<void> {
    const { STOP_GRACE_MS: graceMs } = this.#config;
    const graceTimer = setTimeout(this.#abortRequests, graceMs);
    await Promise.all(this.#servers.map((server) => server.close(graceMs + closeTimeoutMs)));
    clearTimeout(graceTimer);
  }

  async #listen(app: Express, port: number): Promise<ListeningServer> {
    const listening = await listen(app, { host: this.#config.HOST, port, configure: configureServer });
    this.#servers.push(listening);
    return listening;
  }
}

function configureServer(server: Server): void {
  // Requests have no or a small body; responses have the time-out of their route, streams none.
  server.requestTimeout = 30_000;
  server.headersTimeout = 15_000;
  server.timeout = 0;
}
