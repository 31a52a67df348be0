import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake media pod: an HTTP server whose responses the test provides. */
export interface FakeMediaPod {
  readonly url: string;
  /** Received requests. */
  readonly requests: IncomingMessage[];
  /** Open responses. */
  readonly openResponses: Set<ServerResponse>;
  close(): Promise<void>;
}

export async function startFakeMediaPod(
  respond: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<FakeMediaPod> {
  const requests: IncomingMessage[] = [];
  const openResponses = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    requests.push(request);
    openResponses.add(response);
    response.once('close', () => openResponses.delete(response));
    respond(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    openResponses,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Sends the beginning of a stream and leaves it open. */
export const respondWithStream =
  (first: Uint8Array | string = 'FLV') =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'video/x-flv' });
    response.write(first);
  };
