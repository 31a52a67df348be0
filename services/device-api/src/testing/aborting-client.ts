import { once } from 'node:events';
import { connect } from 'node:net';

/** A client with a pending request. */
interface AbortingClient {
  /** Ends its side of the connection, and waits until the server has ended its own. */
  disconnect(): Promise<void>;
}

/** Sends a request from a client that does not wait for the response. */
export async function openAbortingClient(url: string, key: string, method = 'GET'): Promise<AbortingClient> {
  const { hostname, port, pathname, search } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.resume();
  socket.write(`${method} ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}\r\nx-api-key: ${key}\r\n\r\n`);
  return {
    disconnect: async () => {
      const closed = once(socket, 'close');
      socket.end();
      await closed;
    },
  };
}
