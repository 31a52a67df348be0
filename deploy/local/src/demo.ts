import type { IncomingMessage, ServerResponse } from 'node:http';
import { isLoopback } from './addresses.ts';

/** Path that logs a browser in with the demo account. */
export const signInPath = '/demo/sign-in';
/** The fragment lets the page resume the session of the cookie. */
const startPath = '/map#signed-in';
const simulatorTimeoutMs = 10_000;

/** Returns whether a path belongs to the demo, not to the product. */
export const isDemoPath = (path: string): boolean => path.startsWith('/demo/');

interface DemoOptions {
  /** Origin of the product, which session cookies require. */
  origin: string;
  platformApi: string;
  email: string;
  password: string;
  /** Control server of the simulated fleet; absent: no fleet runs. */
  simulator: string | undefined;
}

const loopbackName = /^(127(\.\d+){3}|localhost|\[::1\])(:\d+)?$/;

/** Returns whether a request comes from a page of the product on this machine: the demo has no other authentication. */
function isLocal({ socket, headers }: IncomingMessage): boolean {
  const { host = '', origin } = headers;
  const address = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  // A foreign name in `host` would be a page whose name was made to point to this machine.
  return isLoopback(address) && loopbackName.test(host) && (origin === undefined || origin === `http://${host}`);
}

function sendError(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  response.end(JSON.stringify({ status, error }));
}

/** Logs the browser in and redirects it to the map. The session of another user in this browser is replaced. */
async function signIn(options: DemoOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { platformApi, email: identifier, password, origin } = options;
  const login = await fetch(`${platformApi}/api/auth/login`, {
    method: 'POST',
    // The list of sessions names the browser.
    headers: { 'content-type': 'application/json', 'user-agent': request.headers['user-agent'] ?? '', origin },
    body: JSON.stringify({ identifier, password, session: 'cookie' }),
  });
  await login.body?.cancel();
  const cookies = login.headers.getSetCookie();
  if (!login.ok || cookies.length === 0)
    return sendError(response, 502, `The log-in of the demo account failed with status ${login.status}.`);
  response.writeHead(302, { location: startPath, 'set-cookie': cookies, 'cache-control': 'no-store' }).end();
}

/** Passes a request for the simulated fleet on. */
async function callSimulator(base: string | undefined, request: IncomingMessage, response: ServerResponse) {
  if (base === undefined)
    return sendError(response, 404, 'No simulated fleet is running. Start without --no-simulator.');
  const path = request.url?.replace(/^\/demo/, '') ?? '/';
  const method = request.method === 'POST' ? 'POST' : 'GET';
  const reply = await fetch(base + path, { method, signal: AbortSignal.timeout(simulatorTimeoutMs) });
  const body = await reply.text();
  response.writeHead(reply.status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' });
  response.end(body);
}

/** Requests that only a local start has: the sign-in link and the control of the simulated fleet. */
export interface Demo {
  serve(request: IncomingMessage, response: ServerResponse): void;
}

/** Creates the demo. Requests from other machines or other origins receive 403. */
export function createDemo(options: DemoOptions): Demo {
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    request.resume();
    if (!isLocal(request)) return sendError(response, 403, 'The demo can be opened only in a browser of this machine.');
    if (request.url === signInPath) return await signIn(options, request, response);
    await callSimulator(options.simulator, request, response);
  };
  return {
    serve: (request, response) => {
      serve(request, response).catch(() => {
        if (!response.headersSent) sendError(response, 502, 'The demo is not ready. Retry.');
      });
    },
  };
}

/** Returns the demo that the environment describes; undefined if it describes none. */
export function readDemo(env: NodeJS.ProcessEnv, platformApi: string): Demo | undefined {
  const { DEMO_ORIGIN: origin, DEMO_EMAIL: email, DEMO_PASSWORD: password, DEMO_SIMULATOR_URL: simulator } = env;
  if (origin === undefined || email === undefined || password === undefined) return undefined;
  return createDemo({ origin, platformApi, email, password, simulator });
}
