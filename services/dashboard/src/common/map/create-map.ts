import { Map as MapLibreMap, NavigationControl, ScaleControl, setWorkerUrl } from 'maplibre-gl';
import workerUrl from 'maplibre-gl/dist/maplibre-gl-worker.mjs?worker&url';
import type { ThemeColors } from '../theme/tokens.ts';
import 'maplibre-gl/dist/maplibre-gl.css';
import './map.css';
import { createBaseStyle, getCountries } from './base-map.ts';
import type { MapPlace } from './map-place.ts';

setWorkerUrl(workerUrl);

const wholeWorld: MapPlace = { latitude: 20, longitude: 20, zoom: 1.5 };

/** Throws with a reason if the browser cannot draw maps. */
function assertWebGl(): void {
  const context = document.createElement('canvas').getContext('webgl2');
  if (context === null) throw new Error('This browser or device does not offer WebGL 2.');
  // Browsers limit the number of contexts.
  context.getExtension('WEBGL_lose_context')?.loseContext();
}

/** Creates a map with the offline base map in an element, and waits until it has loaded. An abort removes it. */
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
    // Names and numbers change twice a second: fading them would draw frames all the time.
    fadeDuration: 0,
  });
  removal.addEventListener('abort', () => map.remove());
  map.touchZoomRotate.disableRotation();
  map.keyboard.disableRotation();
  map.addControl(new NavigationControl({ showCompass: false }), 'bottom-right');
  map.addControl(new ScaleControl(), 'bottom-left');
  await map.once('load');
  removal.throwIfAborted();
  return map;
}
