import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/** The running product, for `npm run dev`. */
const product = process.env['PRODUCT_URL'] ?? 'http://127.0.0.1:8080';

/** The dashboard key is valid only from the origin of the product. */
const proxied = { target: product, changeOrigin: true, headers: { origin: product } };

/** Serves the page of share links during development, as platform-api does. */
const sharePage: Plugin = {
  name: 'share-page',
  configureServer: ({ middlewares }) => {
    middlewares.use((request, _response, next) => {
      if (request.url?.startsWith('/share/') === true) request.url = '/share.html';
      next();
    });
  },
};

export default defineConfig({
  plugins: [react(), sharePage],
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    sourcemap: 'hidden',
    target: 'es2023',
    chunkSizeWarningLimit: 1200,
    // The page of share links contains nothing of the signed-in page.
    rolldownOptions: { input: ['index.html', 'share.html'] },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': proxied, '/ws': { ...proxied, ws: true } } },
});
