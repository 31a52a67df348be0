import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A fake media pod: an HTTP server whose responses the test provides. */
export interface MediaPod {
  readonly url: string;
  /** Received requests. */
  readonly requests: IncomingMessage[];
  /** Open responses. */
  readonly open: Set<ServerResponse>;
  close(): Promise<void>;
}

export async function openMediaPod(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<MediaPod> {
  const requests: IncomingMessage[] = [];
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    requests.push(request);
    open.add(response);
    response.once('close', () => open.delete(response));
    answer(request, response);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    open,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Sends the beginning of a stream and leaves it open. */
export const streaming =
  (first: Uint8Array | string = 'FLV') =>
  (_request: IncomingMessage, response: ServerResponse): void => {
    response.writeHead(200, { 'content-type': 'video/x-flv' });
    response.write(first);
  };
