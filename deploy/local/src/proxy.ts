import { Agent, createServer, IncomingMessage, type Server, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { endAfterRequest, isBodyPending, isEnding } from '@fleet/service-kit/last-response';
import { createProxyServer } from 'http-proxy-3';
import { RepeatableRequests } from './repeatable-requests.ts';
import { errorCode } from './start-error.ts';

export interface ProxyTargets {
  deviceApi: string;
  platformApi: string;
}

/** The vendor hub's command channel (docs/reference/partners.md), which partners' clients find at this path alone. */
const partnerCommandPath = '/api/device/sendInstruct';

/** The one path rule, which the Ingress has too: the Device API under /api/v1 and the partner command channel, everything else to platform-api. */
export function isDeviceApiPath(url: string): boolean {
  const path = url.split('?', 1)[0];
  return path === '/api/v1' || path?.startsWith('/api/v1/') === true || path === partnerCommandPath;
}

/** A request target in absolute form (RFC 9112 3.2.2) in the form that all others have. */
export function originForm(url: string): string {
  const rest = url.replace(/^https?:\/\/[^/?#]*/i, '');
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Above what the services take: they say in their own words what is too large. */
const maxHeaderSize = 128 * 1024;

/** Longer than clients keep theirs: who closes an idle connection first must be the one that sends, else a request meets one that just ends. */
const keepAliveTimeoutMs = 65_000;
/** Shorter than the services keep theirs, for the same reason. */
const idleUpstreamMs = 30_000;

const badRequest = JSON.stringify({ status: 400, error: 'The request is not valid HTTP, or too large.' });
const badGateway = JSON.stringify({ status: 502, error: 'The service behind this address does not answer.' });

const offered = Symbol('offered');
const hasOffered = Symbol('hasOffered');

/** As in the services: of what clients offer to speak a websocket alone is taken up, and not HTTP/2 over plain text. Nobody makes tunnels: Node closes on CONNECT. */
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

/** As in the services: what came behind an offer in one piece is lost to the parser, so the connection ends with the answer. */
const isLastOnConnection = (req: IncomingMessage): boolean => req instanceof UpgradableRequest && req[hasOffered];

/**
 * Ends a connection that closes with this response after the rest of the request: many clients read only when they have sent everything. What follows the
 * response is not forwarded.
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

/** This is the edge: what a client claims about its own way here is not passed on. */
function dropForwardedHeaders(req: IncomingMessage): void {
  for (const name of Object.keys(req.headers)) {
    if (name === 'forwarded' || name.startsWith('x-forwarded-') || name === 'x-real-ip') delete req.headers[name];
  }
}

function sendBadGateway(res: ServerResponse | Socket): void {
  if (res instanceof ServerResponse) {
    // Half an answer cannot be taken back: the caller must see that it broke off.
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

/** The one address of the local start: streams are piped as they come, and an end on either side reaches the other. */
export function createReverseProxy(targets: ProxyTargets, report: (line: string) => void): Server {
  const proxy = createProxyServer({ xfwd: true });
  // A connection for each request would cost more than the command that it carries.
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY, timeout: idleUpstreamMs });
  const repeatable = new RepeatableRequests();
  proxy.on('proxyReq', (proxyReq, req) => repeatable.onForwarded(req, proxyReq));
  proxy.on('error', (error, req, res) => {
    if (res instanceof ServerResponse && res.destroyed) return; // the client went first
    // The client has its response: the rest of its request is read, and goes nowhere.
    if (res instanceof ServerResponse && (res.writableEnded || isEnding(req.socket))) return void req.unpipe().resume();
    // On a connection of its own, and so once at most.
    if (res instanceof ServerResponse && !res.headersSent && repeatable.isRepeated(req, error))
      return forward(req, res);
    report(`${req.method} ${req.url?.split('?', 1)[0]}: ${errorCode(error) ?? error.message}`);
    if (res instanceof ServerResponse || res instanceof Socket) sendBadGateway(res);
  });
  // Without this a viewer would wait forever on the open half of a stream whose service has died.
  proxy.on('proxyRes', (proxyRes, req, res) => {
    // Is about the service's connection, not about the client's.
    delete proxyRes.headers['keep-alive'];
    if (isLastOnConnection(req)) proxyRes.headers.connection = 'close';
    proxyRes.once('error', () => res.destroy());
    proxyRes.once('close', () => {
      if (!proxyRes.complete) res.destroy();
    });
  });
  const route = (req: IncomingMessage): { target: string } => {
    req.url = originForm(req.url ?? '/');
    dropForwardedHeaders(req);
    // Node.js has sent 100 Continue.
    delete req.headers.expect;
    return { target: isDeviceApiPath(req.url) ? targets.deviceApi : targets.platformApi };
  };

  const forward = (req: IncomingMessage, res: ServerResponse, pool?: Agent): void => {
    const body = repeatable.body(req);
    const buffer = body === null ? {} : { buffer: Readable.from([body]) };
    proxy.web(req, res, { ...route(req), ...buffer, ...(pool === undefined ? {} : { agent: pool }) });
  };
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    // The connection has had its last response.
    if (isEnding(req.socket)) return;
    if (isLastOnConnection(req)) res.shouldKeepAlive = false;
    if (await repeatable.store(req)) forward(req, res, agent);
  };
  const options = { maxHeaderSize, IncomingMessage: UpgradableRequest, ServerResponse: DrainingResponse };
  const server = createServer(options, (req, res) => void serve(req, res));
  server.on('close', () => agent.destroy());
  server.on('upgrade', (req, socket, head) => {
    // A reset client needs no answer; without a listener it would end the process.
    socket.on('error', () => socket.destroy());
    if (socket instanceof Socket) proxy.ws(req, socket, head, route(req));
    else socket.destroy();
  });
  server.on('clientError', (_error, socket) => {
    if (socket.writable && !isEnding(socket)) socket.end(createRawResponse('400 Bad Request', badRequest));
    else socket.destroy();
  });
  // Neither uploads nor the 95 s of a command nor a stream that runs for days may be cut here.
  server.requestTimeout = 0;
  server.timeout = 0;
  server.keepAliveTimeout = keepAliveTimeoutMs;
  return server;
}
