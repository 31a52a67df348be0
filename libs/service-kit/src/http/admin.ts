import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Express, Router } from 'express';
import type { Lifecycle } from '../runtime/lifecycle.ts';
import { Gauge, type Registry } from '../runtime/metrics.ts';
import { apiError } from './api.ts';
import { AppError } from './errors.ts';
import { deferContinue } from './expect-continue.ts';
import { closeAfterUpgradeOffer, UpgradableRequest } from './http-upgrade.ts';
import { isEnding } from './last-response.ts';

/** What `/readyz` asks: checks by the name of what they look at. */
export type ReadinessChecks = Readonly<Record<string, () => boolean | Promise<boolean>>>;

/**
 * The routes that every service has (platform-contract.md, section 25): `/livez` (the event loop answers), `/readyz` and `/metrics`. Ready is what does not drain and
 * whose `checks` all hold; of the `backends` each must have worked once. Later they are only reported: an outage that all replicas have in common takes none of them out of
 * service, where each still answers what it can. Metrics have all of them as `service_check_up`.
 */
export function createAdminRouter(
  lifecycle: Lifecycle,
  metrics: Registry,
  checks: ReadinessChecks,
  backends: ReadinessChecks = {},
): Router {
  const router = Router();
  const passedOnce = new Set<string>();
  const allChecks = { ...checks, ...backends };
  const results = async (): Promise<(readonly [string, boolean])[]> => {
    const entries = await Promise.all(
      Object.entries(allChecks).map(async ([name, check]) => [name, await runCheck(check)] as const),
    );
    for (const [name, ok] of entries) if (ok && name in backends) passedOnce.add(name);
    return entries;
  };
  const checkGauge: Gauge<'check'> = new Gauge({
    name: 'service_check_up',
    help: '1 where what the service hangs on works: the checks that /readyz shows',
    labelNames: ['check'],
    registers: [],
    async collect() {
      for (const [check, ok] of await results()) this.set({ check }, Number(ok));
    },
  });
  metrics.registerMetric(checkGauge);
  router.get('/livez', (_request, response) => {
    response.json({ live: true });
  });
  router.get('/readyz', async (_request, response) => {
    const entries = await results();
    const ready = !lifecycle.isStopping && entries.every(([name, ok]) => ok || passedOnce.has(name));
    response
      .status(ready ? 200 : 503)
      .json({ ready, draining: lifecycle.isStopping, checks: Object.fromEntries(entries) });
  });
  router.get('/metrics', async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.metrics());
  });
  return router;
}

async function runCheck(check: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await check();
  } catch {
    // A check that throws is a check that failed; its own part logs why.
    return false;
  }
}

/** Larger than any parameter's limit: what is too long for its parameter is told so by name, not cut off as too large a request. */
const maxHeaderSize = 64 * 1024;
/** Longer than load balancers and clients keep theirs: who closes first must be the one that sends, else a request meets a connection that just ends. */
const keepAliveTimeoutMs = 65_000;

/** A server that closes ends no request for being late any more: what has not arrived by then may never. */
const arrivalTimeoutMs = 5_000;

/** As which Node.js hands on a request: without a listener it would send 100 by itself, and 417 without a body to what else a client expects. */
const requestEvents = ['request', 'checkContinue', 'checkExpectation'] as const;

/** Makes the body of an error. */
type RenderError = (error: AppError, requestId: string) => unknown;

/**
 * Listens with an app; the answer knows the real port. `close` takes no more connections, lets the requests under way end, and cuts what is left after
 * `limitMs`, and those that have not arrived within seconds.
 */
export async function listen(
  app: Express | RequestListener,
  options: {
    host: string;
    port: number;
    configure?: (server: Server) => void;
    /** The body of errors, where it differs from that of the Device API. */
    renderError?: RenderError;
  },
): Promise<{ server: Server; port: number; close(timeoutMs?: number): Promise<void> }> {
  const server = createServer({ maxHeaderSize, IncomingMessage: UpgradableRequest });
  const sockets = trackSockets(server);
  for (const event of requestEvents) server.on(event, closeAfterUpgradeOffer);
  server.on('checkContinue', deferContinue);
  for (const event of requestEvents)
    server.on(event, (request, response) => {
      if (!isEnding(request.socket)) app(request, response);
    });
  server.on('clientError', createClientErrorHandler(options.renderError ?? apiError));
  server.keepAliveTimeout = keepAliveTimeoutMs;
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
    close: (timeoutMs) => closeServer(server, sockets, timeoutMs),
  };
}

/** What is not HTTP, or not in time, never becomes a request: it is answered here, with the body that all errors have. */
const createClientErrorHandler =
  (render: RenderError) =>
  (error: Error & { code?: string }, socket: Duplex): void => {
    if (!socket.writable || error.code === 'ECONNRESET' || isEnding(socket)) {
      socket.destroy();
      return;
    }
    const requestId = randomUUID();
    const clientError = toClientError(error.code);
    const body = JSON.stringify(render(clientError, requestId));
    const head = [
      `HTTP/1.1 ${clientError.status} ${STATUS_CODES[clientError.status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'X-Content-Type-Options: nosniff',
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
  };

function toClientError(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new AppError('headers_too_large', 'The address and headers of the request are too large.');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('request_incomplete', 'The request did not arrive in time.');
  return new AppError('validation_failed', 'The request is not valid HTTP.');
}

/** The connections of a server, with the request that each has under way. */
type Sockets = ReadonlyMap<Socket, IncomingMessage | undefined>;

function trackSockets(server: Server): Sockets {
  const sockets = new Map<Socket, IncomingMessage | undefined>();
  server.on('connection', (socket) => {
    sockets.set(socket, undefined);
    socket.once('close', () => sockets.delete(socket));
  });
  const track = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (sockets.has(socket)) sockets.set(socket, request);
    response.once('close', () => {
      if (sockets.get(socket) === request) sockets.set(socket, undefined);
    });
  };
  for (const event of requestEvents) server.on(event, track);
  return sockets;
}

function closeServer(server: Server, sockets: Sockets, timeoutMs: number | undefined): Promise<void> {
  const arriveByMs = performance.now() + arrivalTimeoutMs;
  const closeIdle = (isLate: boolean): void => {
    server.closeIdleConnections();
    for (const [socket, request] of sockets) {
      // Node does not count those as idle that were opened in advance and have not sent a request yet.
      if (socket.bytesRead === 0 || (isLate && request?.complete !== true)) socket.destroy();
    }
  };
  return new Promise((resolve) => {
    // A connection that has its last answer stays open for the caller's next request: it is closed as soon as it is idle.
    const idleTimer = setInterval(() => {
      const isLate = performance.now() > arriveByMs;
      // Behind a pause the timer comes first: what has arrived meanwhile is read before it is judged.
      setImmediate(closeIdle, isLate);
    }, 50);
    const timeoutTimer =
      timeoutMs === undefined ? undefined : setTimeout(() => server.closeAllConnections(), timeoutMs);
    server.close(() => {
      clearInterval(idleTimer);
      clearTimeout(timeoutTimer);
      resolve();
    });
    closeIdle(false);
  });
}
