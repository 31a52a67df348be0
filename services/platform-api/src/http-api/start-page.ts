import { serveSwaggerUi } from '@fleet/service-kit';
import { Router } from 'express';

const page = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fleet platform</title>
<style>
body { max-width: 44rem; margin: 4rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif; color: #1c2733; background: #fff }
h1 { font-size: 1.5rem } code { background: #eef2f6; padding: .1em .3em; border-radius: .2em }
@media (prefers-color-scheme: dark) { body { color: #dde5ee; background: #12181f } code { background: #202a35 } a { color: #7db7ff } }
</style>
<h1>Fleet platform</h1>
<p>Vehicle terminals connect here over JT/T 808, their cameras stream here over JT/T 1078, and partners command both over HTTP.</p>
<ul>
<li><a href="/docs/">Platform API</a>: the fleet's records, to read and to try (<a href="/api/openapi.json">OpenAPI document</a>).</li>
<li><a href="/api/v1/docs">Device API</a>: its operations, to read and to try (<a href="/api/v1/openapi.json">OpenAPI document</a>).</li>
<li><a href="/api/v1/health">Health</a> of the components that the Device API needs.</li>
</ul>
<p>A live stream plays at <code>/api/v1/realtime/stream.flv</code> once <code>/api/v1/realtime/start-stream</code> has answered.</p>
</html>
`;

/** Serves the page for developers at a path: the base URL of an installation without a dashboard. */
export function createStartPage(path: string): Router {
  const router = Router();
  router.get(path, (_request, response) => {
    response
      .set('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
      .type('html')
      .send(page);
  });
  router.use(
    '/docs',
    serveSwaggerUi({
      title: 'Fleet platform',
      specs: [
        { name: 'Platform API', url: '/api/openapi.json' },
        // Served by another service behind the same base URL.
        { name: 'Device API', url: '/api/v1/openapi.json' },
      ],
    }),
  );
  return router;
}
