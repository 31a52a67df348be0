import { IncomingMessage, type ServerResponse } from 'node:http';

const offered = Symbol('offered');
const hasOffered = Symbol('hasOffered');

/**
 * A request of which a server takes up the offer of a websocket alone. Whatever else a client offers, such as HTTP/2 with each request over plain text, is as if it
 * had not been (RFC 9110, section 7.8): Node would take the request away from whoever answers requests, and leave it to whoever listens for upgrades.
 */
export class UpgradableRequest extends IncomingMessage {
  [offered] = false;
  [hasOffered] = false;

  /** What Node's parser notes, and asks again before it hands the request on. It notes CONNECT here too, and closes its connection where nobody makes tunnels. */
  get upgrade(): boolean {
    return this[offered] && (this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket');
  }

  set upgrade(isOffered: boolean) {
    this[offered] = isOffered;
    this[hasOffered] ||= isOffered;
  }
}

/**
 * Ends the connection with the answer to a request whose offer is not taken up: Node's parser drops what came behind it in one piece, as that could be in the other
 * protocol, and its sender must not wait for an answer. Hears a server's requests before whoever answers them.
 */
export function closeAfterUpgradeOffer(request: IncomingMessage, response: ServerResponse): void {
  if (request instanceof UpgradableRequest && request[hasOffered]) response.shouldKeepAlive = false;
}
