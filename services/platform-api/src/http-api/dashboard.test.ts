import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express from 'express';
import type { DashboardConfig } from '../domains/dashboard-config/schema.ts';
import { pageRoutes, serveDashboard, shareRoute } from './dashboard.ts';

const page =
  '<meta property="csp-nonce" nonce="__NONCE__"><script type="application/json">"__CONFIG__"</script><script src="/assets/a-1.js"></script>';
const config = {
  product_name: 'A </script> B',
  has_demo_menu: false,
  ws_url: 'wss://fleet.example/ws',
  video_url: 'https://video.example',
  map_sources: [],
  languages: ['en'],
  signup_enabled: false,
  one_time_codes: true,
  mail: false,
};

let folder: string;
let server: Server;
let url: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-dashboard-'));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), page);
  writeFileSync(join(folder, 'share.html'), `${page}<title>share</title>`);
  writeFileSync(join(folder, 'assets', 'a-1.js'), 'export {};');
  writeFileSync(join(folder, 'assets', 'a-1.js.map'), '{}');
  const script = 'export const text = 1;'.repeat(100);
  writeFileSync(join(folder, 'assets', 'b-2.js'), script);
  writeFileSync(join(folder, 'assets', 'b-2.js.br'), brotliCompressSync(script));
  writeFileSync(join(folder, 'assets', 'b-2.js.gz'), gzipSync(script));
  server = express().use(serveDashboard(folder, config)).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

/** Serves the page with other settings and returns its policy. */
async function readPolicy(settings: DashboardConfig): Promise<string> {
  const other = express().use(serveDashboard(folder, settings)).listen(0, '127.0.0.1');
  await new Promise((resolve) => other.once('listening', resolve));
  const response = await fetch(`http://127.0.0.1:${(other.address() as AddressInfo).port}`);
  other.close();
  return response.headers.get('content-security-policy') ?? '';
}

describe('the dashboard', () => {
  it('responds with the page at the base URL and at every route of the page', async () => {
    const paths = ['/', ...pageRoutes.flatMap((name) => [`/${name}`, `/${name}/7/day`])];
    const responses = await Promise.all(paths.map((path) => fetch(url + path)));
    expect(responses.map(({ status }) => status)).toEqual(paths.map(() => 200));
    expect((await fetch(`${url}/nothing`)).status).toBe(404);
    expect((await fetch(`${url}/mapx`)).status).toBe(404);
  });

  it('responds with a page of its own to guests of share links, under the same policy', async () => {
    const shared = await fetch(`${url}/${shareRoute}/A1b2C3d4E5f6G7h8I9j0K1`);
    const policy = shared.headers.get('content-security-policy') ?? '';
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
    expect(policy).not.toMatch(/unsafe|\*/);
    expect([shared.headers.get('cache-control'), shared.headers.get('referrer-policy')]).toEqual([
      'no-store',
      'no-referrer',
    ]);
    const text = await shared.text();
    expect(text).toContain(`nonce="${nonce}"`);
    expect(text).toContain('<title>share</title>');
    expect(await (await fetch(`${url}/map`)).text()).not.toContain('<title>share</title>');
  });

  it('allows scripts of its own origin only, and styles with the nonce of the response', async () => {
    const [first, second] = await Promise.all([fetch(url), fetch(url)]);
    const policy = first.headers.get('content-security-policy') ?? '';
    expect(policy).not.toMatch(/unsafe|\*/);
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("connect-src 'self' wss://fleet.example https://video.example wss://video.example");
    const nonce = /'nonce-([^']+)'/.exec(policy)?.[1] ?? '';
    expect(await first.text()).toContain(`nonce="${nonce}"`);
    expect(second.headers.get('content-security-policy')).not.toContain(nonce);
    expect(first.headers.get('cache-control')).toBe('no-store');
  });

  it('allows the origins of base maps for images and data, and no other', async () => {
    const source = {
      name: 'Streets',
      type: 'style' as const,
      url: 'https://maps.example/{z}/style.json',
      attribution: '',
      max_zoom: 19,
      tile_size: 256 as const,
      coordinate_system: 'wgs84' as const,
      origins: ['https://tiles.example:8443'],
    };
    const policy = await readPolicy({ ...config, map_sources: [source] });
    expect(policy).toContain("img-src 'self' data: blob: https://maps.example https://tiles.example:8443;");
    expect(policy).toContain('wss://video.example https://maps.example https://tiles.example:8443;');
    expect(policy).toContain("script-src 'self';");
  });

  it('writes its settings into the page, and no text of them ends the script element', async () => {
    const text = await (await fetch(url)).text();
    const json = /<script type="application\/json">(.*?)<\/script>/.exec(text)?.[1] ?? '';
    expect(JSON.parse(json)).toEqual(config);
  });

  it('serves hashed files to be stored forever, and no source maps', async () => {
    const script = await fetch(`${url}/assets/a-1.js`);
    expect([script.status, script.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable']);
    expect(script.headers.get('content-type')).toContain('javascript');
    expect((await fetch(`${url}/assets/a-1.js.map`)).status).toBe(404);
  });

  it.each([
    ['br', 'gzip, deflate, br, zstd'],
    ['gzip', 'gzip, deflate'],
    ['gzip', 'gzip, br;q=0'],
    [null, 'identity'],
  ])('serves a file in the form %s to a browser that accepts %s', async (form, accepted) => {
    const response = await fetch(`${url}/assets/b-2.js`, { headers: { 'accept-encoding': accepted } });
    expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([form, 'Accept-Encoding']);
    expect(response.headers.get('content-type')).toContain('javascript');
    expect(await response.text()).toBe('export const text = 1;'.repeat(100));
    const tag = response.headers.get('etag') ?? '';
    const headers = { 'accept-encoding': accepted, 'if-none-match': tag };
    expect((await fetch(`${url}/assets/b-2.js`, { headers })).status).toBe(304);
    expect((await fetch(`${url}/assets/b-2.js.br`)).status).toBe(404);
  });
});
