import { readFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

const player = readFileSync(createRequire(import.meta.url).resolve('mpegts.js/dist/mpegts.js'));

/** A page with a plain mpegts.js player, as a partner would write it. `window.state` records the events. */
const page = `<!doctype html>
<title>player</title>
<video id="video" muted autoplay></video>
<script src="/player.js"></script>
<script>
  window.state = { errors: [] };
  const video = document.getElementById('video');
  const player = mpegts.createPlayer({ type: 'flv', isLive: true, url: '/stream.flv' }, { enableStashBuffer: false });
  player.on(mpegts.Events.ERROR, (type, detail, info) => window.state.errors.push([type, detail, info && info.msg].join(' ')));
  player.on(mpegts.Events.MEDIA_INFO, (info) => { window.state.media = { mimeType: info.mimeType, hasAudio: info.hasAudio, width: info.width }; });
  player.attachMediaElement(video);
  player.load();
  player.play();
</script>`;

/** Serves the page, and the stream under the page's origin, as a partner's reverse proxy would. */
export async function servePlayer(streamUrl: string): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    if (request.url === '/player.js') {
      response.setHeader('Content-Type', 'text/javascript');
      response.end(player);
    } else if (request.url === '/stream.flv') {
      const upstream = get(streamUrl, (stream) => {
        response.writeHead(stream.statusCode ?? 502, { 'Content-Type': stream.headers['content-type'] ?? '' });
        stream.pipe(response);
      });
      upstream.on('error', () => response.destroy());
      response.on('close', () => upstream.destroy());
    } else {
      response.setHeader('Content-Type', 'text/html');
      response.end(page);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
