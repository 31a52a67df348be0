import { IncomingMessage, type ServerResponse } from 'node:http';

const offered = Symbol('offered');
const hasOffered = Symbol('hasOffered');

/**
 * Represents a request of which a server accepts only the offer of a websocket. Other offers, such as HTTP/2 over plain
 * text, are ignored (RFC 9110, section 7.8): Node.js would hand such a request to upgrade listeners instead of request
 * listeners.
 */
export class UpgradableRequest extends IncomingMessage {
  [offered] = false;
  [hasOffered] = false;

  /**
   * Flag of Node's parser, which it reads again before it emits the request. It also marks CONNECT, whose connection
   * Node closes without a tunnel listener.
   */
  get upgrade(): boolean {
    return this[offered] && (this.method === 'CONNECT' || this.headers.upgrade?.toLowerCase() === 'websocket');
  }

  set upgrade(isOffered: boolean) {
    this[offered] = isOffered;
    this[hasOffered] ||= isOffered;
  }
}

/**
 * Ends the connection with the response to a request whose offer was ignored. Node's parser drops data that arrived
 * after it in one piece, as that could be in the other protocol. The client must not wait for a response to it.
 * Register it before other request listeners.
 */
export function closeAfterUpgradeOffer(request: IncomingMessage, response: ServerResponse): void {
  if (request instanceof UpgradableRequest && request[hasOffered]) response.shouldKeepAlive = false;
}
