import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type Rolldown } from 'vite';
import { createCoastTiles } from './build/create-coast-tiles.ts';

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

/** Writes the archive that coast-tiles.ts loads. */
const coastTiles: Plugin = {
  name: 'coast-tiles',
  buildStart: () => {
    const folder = join(import.meta.dirname, 'dist');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'coasts.bin'), createCoastTiles());
  },
};

const placesFile = join(import.meta.dirname, '..', 'platform-api', 'data', 'places.tsv');
const minPopulation = 100_000;

/** Returns the places of the embedded geocoder that a map of the world names: name, longitude, latitude, population. */
function readCities(): (readonly [string, number, number, number])[] {
  const [, ...lines] = readFileSync(placesFile, 'utf8').trimEnd().split('\n');
  const rows = lines.map((line) => {
    const [name = '', , , latitude, longitude, population] = line.split('\t');
    return [name, Number(longitude), Number(latitude), Number(population)] as const;
  });
  return rows.filter(([, , , population]) => population >= minPopulation);
}

type Chunks = Pick<Rolldown.ChunkingContext, 'getModuleInfo'>;

/** Returns a module of `src` with all modules that it imports statically. */
function findImported(name: string, chunks: Chunks): ReadonlySet<string> {
  const found = new Set([join(import.meta.dirname, 'src', name)]);
  for (const id of found) for (const imported of chunks.getModuleInfo(id)?.importedIds ?? []) found.add(imported);
  return found;
}

let entries: { readonly main: ReadonlySet<string>; readonly share: ReadonlySet<string> } | undefined;

/**
 * Joins the many small modules of the first page, so that a browser needs few requests: one chunk for both pages, and one
 * for the signed-in page.
 */
function nameFirstChunk(id: string, chunks: Chunks): string | null {
  entries ??= { main: findImported('main.tsx', chunks), share: findImported('share.tsx', chunks) };
  if (!entries.main.has(id)) return null;
  return entries.share.has(id) ? 'both-pages' : 'signed-in-page';
}

/** The entries stay chunks of their own: pages that are loaded later must not wait for them. */
const isEntry = (id: string): boolean => /\.html|\/src\/(?:main|share)\.tsx$/.test(id);

const controls = /\/node_modules\/(?:@mantine|@floating-ui|@tabler|react-remove-scroll|react-number-format)\//;
/** A component that fewer pages use stays beside them. */
const minPagesOfControl = 6;

export default defineConfig({
  plugins: [react(), sharePage, coastTiles],
  define: { __CITIES__: JSON.stringify(readCities()) },
  build: {
    outDir: 'dist/app',
    emptyOutDir: true,
    sourcemap: 'hidden',
    target: 'es2023',
    chunkSizeWarningLimit: 1200,
    // The page of share links contains nothing of the signed-in page.
    rolldownOptions: {
      input: ['index.html', 'share.html'],
      output: {
        codeSplitting: {
          groups: [
            { debugName: 'first page', name: nameFirstChunk, tags: ['$initial'], test: (id) => !isEntry(id) },
            // Most pages use most of these components.
            { name: 'controls', test: controls, minShareCount: minPagesOfControl },
          ],
        },
      },
    },
  },
  worker: { format: 'es' },
  server: { proxy: { '/api': proxied, '/ws': { ...proxied, ws: true } } },
});
