import { Agent, createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { endAfterRequest, isBodyPending, isEnding } from '@fleet/service-kit/last-response';
import { createProxyServer } from 'http-proxy-3';
import { type Demo, isDemoPath } from './demo.ts';
import { RepeatableRequests } from './repeatable-requests.ts';
import { errorCode } from './start-error.ts';

interface ProxyTargets {
  deviceApi: string;
  platformApi: string;
}

/**
 * Command channel of the vendor's hub (docs/reference/partners.md), which partner clients expect at exactly this path.
 */
const partnerCommandPath = '/api/device/sendInstruct';

/**
 * Returns whether a path belongs to the Device API: /api/v1 and the partner command channel. Everything else goes to
 * platform-api. The Ingress has the same rule.
 */
export function isDeviceApiPath(url: string): boolean {
  const path = url.split('?', 1)[0];
  return path === '/api/v1' || path?.startsWith('/api/v1/') === true || path === partnerCommandPath;
}

/** Converts a request target in absolute form (RFC 9112 3.2.2) to origin form. */
export function originForm(url: string): string {
  const rest = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Above the limits of the services, so that they respond with their own errors. */
const maxHeaderSize = 128 * 1024;

/**
 * Longer than the idle timeout of clients: the sending side has to close an idle connection first, otherwise a request
 * may meet a closing one.
 */
const keepAliveTimeoutMs = 65_000;
/** Shorter than the idle timeout of the services, for the same reason. */
const idleUpstreamMs = 30_000;

const badRequest = JSON.stringify({ status: 400, error: 'The request is not valid HTTP, or too large.' });
const badGateway = JSON.stringify({ status: 502, error: 'The service behind this address did not respond. Retry.' });

const offered = Symbol('offered');
const hasOffered = Symbol('hasOffered');

/**
 * As in the services: only the upgrade to a websocket is supported, not HTTP/2 over plain text. There are no tunnels:
 * Node closes on CONNECT.
 */
class UpgradableRequest extends IncomingMessage {
  [offered] = false;
  [hasOffered] = false;

  get upgrade(): boolean {
    return this[offered] && (this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket');
  }

  set upgrade(isOffered: boolean) {
    this[offered] = isOffered;
    this[hasOffered] ||= isOffered;
  }
}

/**
 * As in the services: the parser loses data that follows an upgrade offer in the same chunk, so the connection is
 * closed after the response.
 */
const isLastOnConnection = (req: IncomingMessage): boolean => req instanceof UpgradableRequest && req[hasOffered];

/**
 * Delays the end of a connection's last response until the rest of the request is read: many clients read only after
 * they have sent everything. Data of the service after its response is not forwarded.
 */
class DrainingResponse<R extends IncomingMessage = IncomingMessage> extends ServerResponse<R> {
  override end(...args: unknown[]): this {
    const isLast = this.getHeader('connection') === 'close' || !this.shouldKeepAlive;
    if (isEnding(this.req.socket) || !isLast || !isBodyPending(this.req)) return super.end(...(args as []));
    if (typeof args[0] === 'string') this.write(args[0]);
    endAfterRequest(this.req, () => super.end());
    return this;
  }
}

// The proxy is the edge: forwarding headers of clients are not trusted.
function dropForwardedHeaders(req: IncomingMessage): void {
  for (const name of Object.keys(req.headers)) {
    if (name === 'forwarded' || name.startsWith('x-forwarded-') || name === 'x-real-ip') delete req.headers[name];
  }
}

function sendBadGateway(res: ServerResponse | Socket): void {
  if (res instanceof ServerResponse) {
    // A partial response cannot be withdrawn: closing the connection lets the caller detect the failure.
    if (res.headersSent || res.destroyed) {
      res.destroy();
      return;
    }
    if (isBodyPending(res.req)) res.setHeader('connection', 'close');
    res
      .writeHead(502, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
      .end(badGateway);
    return;
  }
  res.end(createRawResponse('502 Bad Gateway', badGateway));
}

const createRawResponse = (status: string, body: string): string =>
  `HTTP/1.1 ${status}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;

/** Passes on the errors and the end of a service's response; without this a viewer of a killed service waits forever. */
function followResponse(proxyRes: IncomingMessage, req: IncomingMessage, res: ServerResponse): void {
  // Applies to the service's connection, not to the client's.
  delete proxyRes.headers['keep-alive'];
  if (isLastOnConnection(req)) proxyRes.headers.connection = 'close';
  proxyRes.once('error', () => res.destroy());
  proxyRes.once('close', () => {
    if (!proxyRes.complete) res.destroy();
  });
}

/** Returns the service of a request, and removes what must not reach it. */
function routeTo(targets: ProxyTargets, req: IncomingMessage): { target: string } {
  req.url = originForm(req.url ?? '/');
  dropForwardedHeaders(req);
  // Node.js has already sent 100 Continue.
  delete req.headers.expect;
  return { target: isDeviceApiPath(req.url) ? targets.deviceApi : targets.platformApi };
}

type Forward = (req: IncomingMessage, res: ServerResponse, pool?: Agent) => void;

/** Creates the client side: forwards requests, and repeats idempotent ones after a reset of a pooled connection. */
function createForwarder(targets: ProxyTargets, report: (line: string) => void) {
  const proxy = createProxyServer({ xfwd: true });
  const repeatable = new RepeatableRequests();
  const forward: Forward = (req, res, pool) => {
    const body = repeatable.body(req);
    const buffer = body === null ? {} : { buffer: Readable.from([body]) };
    proxy.web(req, res, { ...routeTo(targets, req), ...buffer, ...(pool === undefined ? {} : { agent: pool }) });
  };
  proxy.on('proxyReq', (proxyReq, req) => repeatable.onForwarded(req, proxyReq));
  proxy.on('error', (error, req, res) => {
    if (res instanceof ServerResponse && res.destroyed) return; // The client disconnected first.
    // The client has its response: the rest of its request is read and discarded.
    if (res instanceof ServerResponse && (res.writableEnded || isEnding(req.socket))) return void req.unpipe().resume();
    // On a new connection, and therefore at most once.
    if (res instanceof ServerResponse && !res.headersSent && repeatable.isRepeated(req, error))
      return forward(req, res);
    report(`${req.method} ${req.url?.split('?', 1)[0]}: ${errorCode(error) ?? error.message}`);
    if (res instanceof ServerResponse || res instanceof Socket) sendBadGateway(res);
  });
  proxy.on('proxyRes', followResponse);
  return { proxy, repeatable, forward };
}

/**
 * Creates the reverse proxy of the local start. Streams are piped as they arrive, and a close on either side reaches
 * the other. A demo has its own paths.
 */
export function createReverseProxy(targets: ProxyTargets, report: (line: string) => void, demo?: Demo): Server {
  // A new connection for each request would cost more than the command that it carries.
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, timeout: idleUpstreamMs });
  const { proxy, repeatable, forward } = createForwarder(targets, report);
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    // The last response of the connection has been sent.
    if (isEnding(req.socket)) return;
    if (isLastOnConnection(req)) res.shouldKeepAlive = false;
    if (demo !== undefined && isDemoPath(originForm(req.url ?? '/'))) return demo.serve(req, res);
    if (await repeatable.store(req)) forward(req, res, agent);
  };
  const options = { maxHeaderSize, IncomingMessage: UpgradableRequest, ServerResponse: DrainingResponse };
  const server = createServer(options, (req, res) => void serve(req, res));
  server.on('close', () => agent.destroy());
  server.on('upgrade', (req, socket, head) => {
    // A reset client needs no response; without a listener the error would end the process.
    socket.on('error', () => socket.destroy());
    if (socket instanceof Socket) proxy.ws(req, socket, head, routeTo(targets, req));
    else socket.destroy();
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable && !isEnding(socket)) socket.end(createRawResponse('400 Bad Request', badRequest));
    else socket.destroy();
  });
  // Uploads, commands of 95 s and streams that run for days must not be cut off.
  server.requestTimeout = 0;
  server.timeout = 0;
  server.keepAliveTimeout = keepAliveTimeoutMs;
  return server;
}
