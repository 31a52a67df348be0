import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Router } from 'express';
import { createContentSender } from './static-content.ts';

const require = createRequire(import.meta.url);

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets style attributes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const assets = [
  'swagger-ui.css',
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'favicon-16x16.png',
  'favicon-32x32.png',
];

/**
 * Serves a browsable page over OpenAPI documents, mounted under a path such as `/docs`. All assets come from this
 * process, so that it works without the internet. `specs` are the names and addresses of the documents, as the browser
 * reaches them.
 */
export function serveSwaggerUi(options: {
  title: string;
  specs: readonly { readonly name: string; readonly url: string }[];
}): Router {
  const directory = dirname(require.resolve('swagger-ui-dist/package.json'));
  const router = Router({ strict: true });
  const page = renderPage(options.title);
  const script = renderInitializer(options.specs);
  router.use((_request, response, next) => {
    response.set({ 'Content-Security-Policy': contentSecurityPolicy, 'Referrer-Policy': 'no-referrer' });
    next();
  });
  router.get('/', (request, response) => {
    // Relative addresses of the assets need the trailing slash.
    if (request.originalUrl.split('?', 1)[0]?.endsWith('/') === true) response.type('html').send(page);
    else response.redirect(308, `${request.baseUrl}/`);
  });
  router.get('/initializer.js', (_request, response) => {
    response.type('js').send(script);
  });
  for (const name of assets) {
    const file = readFileSync(join(directory, name));
    const send = createContentSender(() => file);
    router.get(`/${name}`, (_request, response) => {
      send(response.type(name).set('Cache-Control', 'public, max-age=86400'));
    });
  }
  return router;
}

const escapeHtml = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const renderPage = (title: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="stylesheet" href="swagger-ui.css">
<link rel="icon" type="image/png" href="favicon-32x32.png" sizes="32x32">
<link rel="icon" type="image/png" href="favicon-16x16.png" sizes="16x16">
</head>
<body>
<div id="swagger-ui"></div>
<script src="swagger-ui-bundle.js"></script>
<script src="swagger-ui-standalone-preset.js"></script>
<script src="initializer.js"></script>
</body>
</html>
`;

const renderInitializer = (specs: readonly { name: string; url: string }[]): string => `window.ui = SwaggerUIBundle({
  urls: ${JSON.stringify(specs)},
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
  layout: 'StandaloneLayout',
});
`;
