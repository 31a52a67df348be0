import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listen } from './admin.ts';
import { createApp } from './app.ts';
import { serveSwaggerUi } from './swagger-ui.ts';

let server: Awaited<ReturnType<typeof listen>>;
let base: string;
beforeAll(async () => {
  const app = createApp();
  app.use('/docs', serveSwaggerUi({ title: 'A <b> API', specs: [{ name: 'A', url: '/a.json' }] }));
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  base = `http://127.0.0.1:${server.port}/docs`;
});
afterAll(() => server.close(1_000));

describe('docsPage', () => {
  it('redirects to its address with a trailing slash', async () => {
    const response = await fetch(base, { redirect: 'manual' });
    expect([response.status, response.headers.get('location')]).toEqual([308, '/docs/']);
  });

  it('has no inline script, and a policy that allows none', async () => {
    const response = await fetch(`${base}/`);
    const html = await response.text();
    expect(html).toContain('<title>A &#60;b&#62; API</title>');
    expect(html).not.toMatch(/<script>|https?:/);
    expect(response.headers.get('content-security-policy')).toMatch(/default-src 'none'; script-src 'self'/);
  });

  it('serves its assets', async () => {
    for (const [part, type] of [
      ['swagger-ui.css', 'text/css'],
      ['swagger-ui-bundle.js', 'text/javascript'],
      ['initializer.js', 'text/javascript'],
      ['favicon-32x32.png', 'image/png'],
    ] as const) {
      const response = await fetch(`${base}/${part}`);
      expect([response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([200, type]);
      await response.body?.cancel();
    }
    const etag = (await fetch(`${base}/swagger-ui.css`)).headers.get('etag') ?? '';
    expect((await fetch(`${base}/swagger-ui.css`, { headers: { 'if-none-match': etag } })).status).toBe(304);
    expect((await fetch(`${base}/package.json`)).status).toBe(404);
    expect(await (await fetch(`${base}/initializer.js`)).text()).toContain('[{"name":"A","url":"/a.json"}]');
  });
});
