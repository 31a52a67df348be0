import i18next from 'i18next';
import { type GeoJSONSource, Map as MapLibreMap, NavigationControl, ScaleControl, setWorkerUrl } from 'maplibre-gl';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url';
import { config } from '../config.ts';
import { colors, type ThemeColors } from '../theme/tokens.ts';
import 'maplibre-gl/dist/maplibre-gl.css';
import './map.css';
import { createBaseStyle, getCities, getCountries } from './base-map.ts';
import { showCoastsWhenClose } from './coast-tiles.ts';
import type { MapPlace } from './map-place.ts';
import { MapSourceControl } from './map-source-control.ts';

setWorkerUrl(workerUrl);

const wholeWorld: MapPlace = { latitude: 20, longitude: 20, zoom: 1.5 };

/** Throws with a reason if the browser cannot draw maps. */
function assertWebGl(): void {
  const context = document.createElement('canvas').getContext('webgl2');
  if (context === null) throw new Error('This browser or device does not offer WebGL 2.');
  // Browsers limit the number of contexts.
  context.getExtension('WEBGL_lose_context')?.loseContext();
}

/** Returns the texts of the controls in the language of the page. */
const controlTexts = (): Record<string, string> => ({
  'NavigationControl.ZoomIn': i18next.t('mapView.zoomIn'),
  'NavigationControl.ZoomOut': i18next.t('mapView.zoomOut'),
  'AttributionControl.ToggleAttribution': i18next.t('mapView.attribution'),
  'Map.Title': i18next.t('mapView.title'),
});

/** Adds the cities to the offline map, which is of use without them. */
async function showCities(map: MapLibreMap, removal: AbortSignal): Promise<void> {
  const cities = await getCities();
  if (!removal.aborted) await map.getSource<GeoJSONSource>('cities')?.setData(cities);
}

/**
 * Creates a map with the offline base map in an element, and waits until it has loaded. Other base maps of the
 * installation follow. An abort removes it.
 */
export async function createMap(
  element: HTMLElement,
  theme: ThemeColors,
  removal: AbortSignal,
  { latitude, longitude, zoom }: MapPlace = wholeWorld,
): Promise<MapLibreMap> {
  assertWebGl();
  const style = createBaseStyle(theme, await getCountries());
  removal.throwIfAborted();
  const map = new MapLibreMap({
    container: element,
    style,
    center: [longitude, latitude],
    zoom,
    maxPitch: 0,
    dragRotate: false,
    pitchWithRotate: false,
    locale: controlTexts(),
    // Names and numbers change twice a second: fading them would draw frames all the time.
    fadeDuration: 0,
  });
  removal.addEventListener('abort', () => map.remove());
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  map.addControl(new NavigationControl({ showCompass: false }), 'bottom-right');
  map.addControl(new ScaleControl({ unit: usesMiles() ? 'imperial' : 'metric' }), 'bottom-left');
  await map.once('load');
  removal.throwIfAborted();
  void showCities(map, removal).catch((error: unknown) => console.warn('The cities cannot be loaded.', error));
  showCoastsWhenClose(map, theme, removal);
  if (config.map_sources.length > 0)
    map.addControl(new MapSourceControl(config.map_sources, theme === colors.dark ? 'dark' : 'light'), 'bottom-left');
  return map;
}

/** Returns whether the user prefers miles. */
const usesMiles = (): boolean => document.documentElement.dataset['distanceUnit'] === 'mi';
