import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

const require = createRequire(import.meta.url);
const files: Readonly<Record<string, { readonly type: string; readonly content: Buffer }>> = {
  '/player.html': { type: 'text/html', content: readFileSync('docs/examples/player.html') },
  '/mpegts.js': { type: 'text/javascript', content: readFileSync(require.resolve('mpegts.js/dist/mpegts.js')) },
  '/hls.js': { type: 'text/javascript', content: readFileSync(require.resolve('hls.js/dist/hls.js')) },
};

/** Serves the example page of docs/examples with its two libraries, at an origin of its own. */
export async function serveExamplePlayer(): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const file = files[request.url ?? ''];
    if (file === undefined) response.writeHead(404).end();
    else response.setHeader('Content-Type', file.type).end(file.content);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/player.html`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
