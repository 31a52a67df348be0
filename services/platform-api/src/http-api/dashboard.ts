import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createContentSender } from '@fleet/service-kit';
import { type RequestHandler, Router } from 'express';
import type { DashboardConfig } from '../domains/dashboard-config/schema.ts';

/** First path segment of the page for guests, which has an entry of its own. */
export const shareRoute = 'share';

/** First path segments of the routes of the signed-in page. Every other path keeps its 404. */
export const pageRoutes = [
  'login',
  'register',
  'reset-password',
  'map',
  'video',
  'events',
  'vehicles',
  'media',
  'drivers',
  'groups',
  'geofences',
  'routes',
  'sharing',
  'devices',
  'messages',
  'support',
  'account',
  'profile',
] as const;

const originOf = (url: string): string => new URL(url).origin;

/** Returns the origins of base maps. */
const mapOrigins = ({ map_sources: sources }: DashboardConfig): ReadonlySet<string> =>
  new Set(sources.flatMap(({ url, origins }) => [originOf(url), ...origins]));

/**
 * Returns the policy of the page: scripts only from this origin, styles only with the nonce of the response, data also
 * from the websocket, the video service and base maps.
 */
function contentSecurityPolicy(config: DashboardConfig, nonce: string): string {
  const { ws_url: wsUrl, video_url: videoUrl } = config;
  const maps = [...mapOrigins(config)];
  const video = originOf(videoUrl);
  const ws = originOf(wsUrl.replace(/^http/, 'ws'));
  const videoWs = video.replace(/^http/, 'ws');
  return [
    "default-src 'none'",
    "script-src 'self'",
    "worker-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    ["img-src 'self' data: blob:", ...maps].join(' '),
    `media-src 'self' blob: ${video}`,
    ["connect-src 'self'", ws, video, videoWs, ...maps].join(' '),
    "font-src 'self'",
    "manifest-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "object-src 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

/** Escapes JSON for a script element: `<` could end the element. */
const toScriptJson = (value: unknown): string => JSON.stringify(value).replaceAll('<', '\\u003c');

/**
 * Serves the dashboard that the build wrote to a folder: `share.html` for guests of share links, `index.html` for the
 * other routes, and hashed files below `/assets`, which browsers store forever. Throws if a file is missing.
 */
export function serveDashboard(folder: string, config: DashboardConfig): Router {
  const router = Router({ caseSensitive: true });
  const toPaths = (name: string): string[] => [`/${name}`, `/${name}/*rest`];
  router.get(toPaths(shareRoute), createPageSender(join(folder, 'share.html'), config));
  router.get(['/', ...pageRoutes.flatMap(toPaths)], createPageSender(join(folder, 'index.html'), config));
  for (const name of readdirSync(join(folder, 'assets')).filter((each) => !unlistedFile.test(each)))
    router.get(`/assets/${name}`, createAssetSender(join(folder, 'assets', name)));
  return router;
}

/** Source maps, which stay on the server, and compressed forms of other files. */
const unlistedFile = /\.(?:map|br|gz)$/;

/** Compressed forms that the build writes beside a file, the smallest first. */
const compressedForms = [
  { encoding: 'br', suffix: '.br' },
  { encoding: 'gzip', suffix: '.gz' },
] as const;

/** Returns a handler that sends a hashed file in the smallest form that the browser accepts. */
function createAssetSender(path: string): RequestHandler {
  const createSender = (suffix: string) => createContentSender(() => readFileSync(path + suffix));
  const sendOriginal = createSender('');
  const forms = compressedForms
    .filter(({ suffix }) => existsSync(path + suffix))
    .map(({ encoding, suffix }) => ({ encoding, send: createSender(suffix) }));
  return (request, response) => {
    const form = forms.find(({ encoding }) => request.acceptsEncodings(encoding) !== false);
    response.type(basename(path)).set('Cache-Control', 'public, max-age=31536000, immutable');
    if (form !== undefined) response.set('Content-Encoding', form.encoding);
    (form?.send ?? sendOriginal)(response);
  };
}

/** Returns a handler that sends a page with the settings of the installation and a new nonce. */
function createPageSender(path: string, config: DashboardConfig): RequestHandler {
  const template = readFileSync(path, 'utf8').replace('"__CONFIG__"', () => toScriptJson(config));
  return (_request, response) => {
    const nonce = randomBytes(16).toString('base64');
    response
      .set({
        'Content-Security-Policy': contentSecurityPolicy(config, nonce),
        'Cache-Control': 'no-store',
        'Referrer-Policy': 'no-referrer',
        'Permissions-Policy': 'microphone=(self)',
      })
      .type('html')
      .send(template.replaceAll('__NONCE__', nonce));
  };
}
