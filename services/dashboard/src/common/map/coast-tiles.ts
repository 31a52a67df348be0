import { type AddProtocolAction, addProtocol, type Map as MapLibreMap } from 'maplibre-gl';
// Written by the build (vite.config.ts).
import archiveUrl from '../../../dist/coasts.bin?url';
import type { ThemeColors } from '../theme/tokens.ts';
import { coastIds, createCoastLayers } from './base-map.ts';
import { CoastArchive, coastZoom } from './coast-archive.ts';

const protocol = 'coasts';

let archive: Promise<CoastArchive> | undefined;

async function loadArchive(): Promise<CoastArchive> {
  const response = await fetch(archiveUrl);
  if (!response.ok) throw new Error(`The coasts could not be loaded: ${response.status}.`);
  return new CoastArchive(await response.arrayBuffer());
}

const getArchive = (): Promise<CoastArchive> => (archive ??= loadArchive());

const loadTile: AddProtocolAction = async ({ url }) => {
  const [x, y] = url.slice(`${protocol}://`.length).split('/').map(Number);
  return { data: (await getArchive()).getTile(x ?? 0, y ?? 0) };
};

/** Draws fine coasts and borders instead of the coarse ones, as soon as the map is close enough to show a difference. */
export function showCoastsWhenClose(map: MapLibreMap, theme: ThemeColors, removal: AbortSignal): void {
  const check = (): void => {
    if (map.getZoom() < coastZoom) return;
    map.off('zoom', check);
    void showCoasts(map, theme, removal).catch((error: unknown) => console.warn('The coasts stay coarse.', error));
  };
  map.on('zoom', check);
  check();
}

async function showCoasts(map: MapLibreMap, theme: ThemeColors, removal: AbortSignal): Promise<void> {
  // The coarse ones stay until the fine ones are here.
  await getArchive();
  if (removal.aborted) return;
  addProtocol(protocol, loadTile);
  const tiles = [`${protocol}://{x}/{y}`];
  const zooms = { minzoom: coastZoom, maxzoom: coastZoom };
  map.addSource(coastIds.fine, { type: 'vector', tiles, ...zooms, attribution: 'Natural Earth' });
  for (const layer of createCoastLayers(theme, 'fine')) map.addLayer(layer, 'cities');
  for (const { id } of createCoastLayers(theme, 'coarse')) map.setLayerZoomRange(id, 0, coastZoom);
}
