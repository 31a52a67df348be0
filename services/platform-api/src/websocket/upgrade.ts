import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { createApp } from '@fleet/service-kit';

/** Path of the websocket. */
const websocketPath = '/ws';

/** Data of a connection request. */
export interface ConnectionRequest {
  readonly token: string | undefined;
  readonly share: string | undefined;
  readonly ticket: string | undefined;
  readonly password: string | undefined;
  /** False: the client reads the positions with a request. */
  readonly hasSnapshots: boolean;
  readonly ip: string;
}

/** Parses a connection request; returns a status if it is rejected. */
export function parseUpgrade(
  request: IncomingMessage,
  parts: { readonly origins: ReadonlySet<string>; readonly isTrusted: TrustedProxy },
): ConnectionRequest | { readonly status: number; readonly error: string } {
  const base = 'http://localhost';
  const url = URL.canParse(request.url ?? '', base) ? new URL(request.url ?? '', base) : undefined;
  if (url?.pathname !== websocketPath) return { status: 404, error: 'There is no websocket at this path.' };
  // Browsers always send the page's origin; other clients have no user session that a foreign page could use.
  const { origin } = request.headers;
  if (origin !== undefined && !parts.origins.has(origin))
    return { status: 403, error: 'The websocket cannot be opened from this origin.' };
  const { searchParams: query } = url;
  const header = request.headers['x-share-password'];
  return {
    token: query.get('token') ?? undefined,
    share: query.get('share') ?? undefined,
    ticket: query.get('ticket') ?? undefined,
    password: (typeof header === 'string' ? header : undefined) ?? query.get('password') ?? undefined,
    hasSnapshots: query.get('snapshot') !== 'none',
    ip: clientAddress(request, parts.isTrusted),
  };
}

/** Responds to a rejected request. */
export function rejectUpgrade(socket: Duplex, status: number, error: string): void {
  const body = JSON.stringify({ status, error });
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'X-Content-Type-Options: nosniff',
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Returns whether a proxy at this hop is trusted. */
type TrustedProxy = (address: string, hop: number) => boolean;

// The same proxies as for requests.
export const trustedProxies = (trustProxy: string): TrustedProxy =>
  createApp({ trustProxy }).get('trust proxy fn') as TrustedProxy;

/** Returns the client's address: the first one, from here, that is not a trusted proxy. */
function clientAddress(request: IncomingMessage, isTrusted: TrustedProxy): string {
  const forwarded = String(request.headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '')
    .toReversed();
  const addresses = [request.socket.remoteAddress ?? '', ...forwarded];
  return addresses.find((address, hop) => !isTrusted(address, hop)) ?? addresses.at(-1) ?? '';
}
