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
import { apiError } from './error-handlers.ts';
import { AppError } from './errors.ts';
import { deferContinue } from './expect-continue.ts';
import { closeAfterUpgradeOffer, UpgradableRequest } from './http-upgrade.ts';
import { isEnding } from './last-response.ts';

/** Checks of `/readyz` by name. */
export type ReadinessChecks = Readonly<Record<string, () => boolean | Promise<boolean>>>;

/**
 * Creates the routes of the admin port: `/livez` (the event loop runs), `/readyz` and `/metrics`. A service is ready if
 * it has started and does not drain, all `checks` pass, and each of the `backends` has worked once. Later outages of
 * backends are only reported: replicas share them, so none is taken out of service. Metrics report all as
 * `service_check_up`.
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
    help: '1 if a dependency works: the checks that /readyz reports',
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
    const ready =
      lifecycle.isStarted && !lifecycle.isStopping && entries.every(([name, ok]) => ok || passedOnce.has(name));
    response
      .status(ready ? 200 : 503)
      .json({ ready, draining: lifecycle.isStopping, checks: Object.fromEntries(entries) });
  });
  router.get('/metrics', async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.metrics());
  });
  // For docs/reference/metrics.md: the format of Prometheus has labels only of series that exist.
  router.get('/metrics/descriptions', (_request, response) => {
    response.json(describeMetrics(metrics));
  });
  return router;
}

/** Members of metrics that the published types lack. */
interface DescribedMetric {
  readonly name: string;
  readonly help: string;
  readonly type?: string;
  readonly labelNames?: readonly string[];
}

const describeMetrics = (metrics: Registry): Required<DescribedMetric>[] =>
  (metrics.getMetricsAsArray() as unknown as readonly DescribedMetric[]).map(
    ({ name, help, type = 'gauge', labelNames = [] }) => ({
      name,
      help,
      type,
      labelNames,
    }),
  );

async function runCheck(check: () => boolean | Promise<boolean>): Promise<boolean> {
  try {
    return await check();
  } catch {
    // A check that throws has failed; its own part logs the reason.
    return false;
  }
}

/**
 * Larger than the limit of every parameter: a request with a long parameter is rejected by that parameter's name, not
 * as too large.
 */
const maxHeaderSize = 64 * 1024;
/**
 * Longer than the idle timeout of load balancers and clients: otherwise a request meets a connection that is just
 * closing.
 */
const keepAliveTimeoutMs = 65_000;

/** A closing server waits this long for incomplete requests. */
const arrivalTimeoutMs = 5_000;

/** Event names of requests with `Expect`: without a listener Node.js replies 100 by itself, or 417 without a body. */
const requestEvents = ['request', 'checkContinue', 'checkExpectation'] as const;

/** Creates the body of an error. */
type RenderError = (error: AppError, requestId: string) => unknown;

/**
 * Listens with an app; returns the actual port. `close` accepts no more connections, finishes pending requests, and
 * destroys connections after `limitMs`; those with incomplete requests after seconds.
 */
export async function listen(
  app: Express | RequestListener,
  options: {
    host: string;
    port: number;
    configure?: (server: Server) => void;
    /** Body of errors, where it differs from that of the Device API. */
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

/** Responds to bytes that are not HTTP, or arrive too late, with the body of all errors. */
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

/** Connections of a server, each with its pending request. */
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
      // Node.js does not count connections as idle that have not sent a request yet.
      if (socket.bytesRead === 0 || (isLate && request?.complete !== true)) socket.destroy();
    }
  };
  return new Promise((resolve) => {
    // A connection stays open for the next request of its client: it is closed as soon as it is idle.
    const idleTimer = setInterval(() => {
      const isLate = performance.now() > arriveByMs;
      // After a pause the timer runs first: data that arrived in the pause is read before it is judged.
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
