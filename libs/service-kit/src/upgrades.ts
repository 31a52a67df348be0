import { IncomingMessage } from 'node:http';

const offered = Symbol('offered');

/**
 * A request of which a server takes up the offer of a websocket alone. Whatever else a client offers, such as HTTP/2 with each request over plain text, is as if it
 * had not been (RFC 9110, section 7.8): Node would take the request away from whoever answers requests, and leave it to whoever listens for upgrades.
 */
export class WebsocketOrPlain extends IncomingMessage {
  [offered] = false;

  /** What Node's parser notes, and asks again before it hands the request on. */
  get upgrade(): boolean {
    return this[offered] && this.headers.upgrade?.toLowerCase() === 'websocket';
  }

  set upgrade(isOffered: boolean) {
    this[offered] = isOffered;
  }
}
