import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A stream lasts as long as somebody watches; a fuzzer reads every answer to its end. */
const watchedMs = 200;

export interface StreamCutter {
  readonly url: string;
  stop(): Promise<void>;
}

function pass(target: URL, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, url: path, rawHeaders: headers } = incoming;
  // The path goes on byte by byte, malformed escapes included.
  const forwarded = request({ hostname: target.hostname, port: target.port, method, path, headers, agent: false });
  forwarded.on('response', (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(outgoing);
    answer.on('error', () => outgoing.destroy());
    if (answer.headers['content-type'] === 'video/x-flv')
      setTimeout(() => {
        answer.unpipe(outgoing);
        outgoing.end();
        forwarded.destroy();
      }, watchedMs);
  });
  forwarded.on('error', () => outgoing.destroy());
  outgoing.on('close', () => forwarded.destroy());
  incoming.pipe(forwarded);
}

/** A door in front of the product that ends endless video after a moment and changes nothing else. */
export async function startStreamCutter(baseUrl: string): Promise<StreamCutter> {
  const target = new URL(baseUrl);
  const server = createServer({ maxHeaderSize: 256 * 1024 }, (incoming, outgoing) => pass(target, incoming, outgoing));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
