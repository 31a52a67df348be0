import type { components } from '@fleet/api-client';
import { addProtocol, type LayerSpecification, type SourceSpecification, type StyleSpecification } from 'maplibre-gl';
import type { Theme } from '../theme/tokens.ts';
import { resolveSourceUrls, resolveStyleUrl } from './style-urls.ts';

export type MapSource = components['schemas']['MapSource'];

/** What a base map adds to the style. */
export interface SourceStyle {
  readonly sources: Readonly<Record<string, SourceSpecification>>;
  readonly layers: readonly LayerSpecification[];
  /** URL of the symbols. */
  readonly sprite?: string | undefined;
}

/** What the colours and names of a base map depend on. */
interface Appearance {
  readonly theme: Theme;
  readonly language: string;
}

/** Loads the style of a base map. Throws an Error if it cannot be reached or is not a map. */
export async function loadSourceStyle(source: MapSource, appearance: Appearance): Promise<SourceStyle> {
  switch (source.type) {
    case 'raster':
      return createRasterStyle(source, { tiles: [await toTileUrl(source)] });
    case 'vector':
      return createVectorStyle(source, appearance, { tiles: [source.url] });
    case 'pmtiles':
      return loadArchiveStyle(source, appearance);
    case 'style':
      return loadStyle(source);
  }
}

/** Returns the URL of the tiles. Those in GCJ-02 are moved to their place when they are loaded. */
async function toTileUrl({ url, coordinate_system: system }: MapSource): Promise<string> {
  if (system === 'wgs84') return url;
  const { gcj02Protocol, loadGcj02Tile, toGcj02Url } = await import('./gcj02-tiles.ts');
  addProtocol(gcj02Protocol, loadGcj02Tile);
  return toGcj02Url(url);
}

type TileAddress = { readonly tiles: string[] } | { readonly url: string };

const optionsOf = ({ attribution, max_zoom: maxzoom }: MapSource) => ({ attribution, maxzoom });

const createRasterStyle = (source: MapSource, address: TileAddress): SourceStyle => ({
  sources: { tiles: { type: 'raster', ...address, ...optionsOf(source), tileSize: source.tile_size } },
  layers: [{ id: 'tiles', type: 'raster', source: 'tiles' }],
});

/** Draws vector tiles in the Protomaps schema. Symbols are left out: the page has none of their images. */
async function createVectorStyle(
  source: MapSource,
  appearance: Appearance,
  address: TileAddress,
): Promise<SourceStyle> {
  const { layers, namedFlavor } = await import('@protomaps/basemaps');
  const lang = appearance.language.startsWith('zh') ? 'zh-Hans' : appearance.language;
  const all = layers('tiles', namedFlavor(appearance.theme), { lang });
  return {
    sources: { tiles: { type: 'vector', ...address, ...optionsOf(source) } },
    layers: all.map(removeImages),
  };
}

function removeImages(layer: LayerSpecification): LayerSpecification {
  if (layer.type !== 'symbol') return layer;
  const { 'icon-image': _image, ...layout } = layer.layout ?? {};
  return { ...layer, layout };
}

/** Reads the header of a PMTiles archive, which says what its tiles are. */
async function loadArchiveStyle(source: MapSource, appearance: Appearance): Promise<SourceStyle> {
  const { PMTiles, Protocol, TileType } = await import('pmtiles');
  const archive = new PMTiles(source.url);
  const { tileType, maxZoom } = await archive.getHeader();
  const protocol = new Protocol();
  protocol.add(archive);
  addProtocol('pmtiles', protocol.tile);
  const limited = { ...source, max_zoom: Math.min(source.max_zoom, maxZoom) };
  const address = { url: `pmtiles://${source.url}` };
  return tileType === TileType.Mvt
    ? createVectorStyle(limited, appearance, address)
    : createRasterStyle(limited, address);
}

/** Loads a MapLibre style. Its fonts are not loaded: the browser draws all text with its own. */
async function loadStyle({ url, attribution }: MapSource): Promise<SourceStyle> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The map responded with ${response.status}.`);
  const { sources, layers, sprite } = (await response.json()) as Partial<StyleSpecification>;
  if (typeof sources !== 'object' || !Array.isArray(layers)) throw new Error('The map has no style.');
  const attributed = Object.entries(resolveSourceUrls(sources, url)).map(([id, source], index) => [
    id,
    index === 0 && attribution !== '' ? { ...source, attribution } : source,
  ]);
  return {
    sources: Object.fromEntries(attributed) as SourceStyle['sources'],
    layers,
    sprite: typeof sprite === 'string' ? resolveStyleUrl(sprite, url) : undefined,
  };
}
