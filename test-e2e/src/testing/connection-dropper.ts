import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A stream lasts while a viewer is connected, but a fuzzer reads every response to its end. */
const streamDurationMs = 200;

interface ConnectionDropper {
  readonly url: string;
  stop(): Promise<void>;
}

function forward(target: URL, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, url: path, rawHeaders: headers } = incoming;
  // The path is forwarded byte by byte, malformed escapes included.
  const forwarded = request({ hostname: target.hostname, port: target.port, method, path, headers, agent: false });
  forwarded.on('response', (upstreamResponse) => {
    outgoing.writeHead(upstreamResponse.statusCode ?? 502, upstreamResponse.rawHeaders);
    upstreamResponse.pipe(outgoing);
    upstreamResponse.on('error', () => outgoing.destroy());
    if (upstreamResponse.headers['content-type'] === 'video/x-flv')
      setTimeout(() => {
        upstreamResponse.unpipe(outgoing);
        outgoing.end();
        forwarded.destroy();
      }, streamDurationMs);
  });
  forwarded.on('error', () => outgoing.destroy());
  outgoing.on('close', () => forwarded.destroy());
  incoming.pipe(forwarded);
}

/** A proxy in front of the product that ends endless video after a moment and changes nothing else. */
export async function startConnectionDropper(baseUrl: string): Promise<ConnectionDropper> {
  const target = new URL(baseUrl);
  const server = createServer({ maxHeaderSize: 256 * 1024 }, (incoming, outgoing) =>
    forward(target, incoming, outgoing),
  );
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
