import i18next from 'i18next';
import type { ErrorEvent, IControl, Map as MapLibreMap } from 'maplibre-gl';
import type { Theme } from '../theme/tokens.ts';
import { isBaseLayer } from './base-map.ts';
import { loadSourceStyle, type MapSource, type SourceStyle } from './map-sources.ts';

/** Before the ids of the sources and layers of the chosen base map. */
const prefix = 'source:';
const storageName = 'fleet-map-source';
/** The value of the offline map, which no source has as its name. */
const offlineValue = '';

/** Returns the base map that the user chose on this device; the first one by default, null for the offline map. */
function readChoice(sources: readonly MapSource[]): MapSource | null {
  const stored = localStorage.getItem(storageName);
  if (stored === offlineValue) return null;
  return sources.find(({ name }) => name === stored) ?? sources[0] ?? null;
}

/** Returns the first layer above the base map, below which another one is added. */
const findFirstPageLayer = (map: MapLibreMap): string | undefined =>
  map.getLayersOrder().find((id) => !isBaseLayer(id) && !id.startsWith(prefix));

function removeSource(map: MapLibreMap): void {
  for (const id of map.getLayersOrder().filter((each) => each.startsWith(prefix))) map.removeLayer(id);
  const ids = Object.keys(map.getStyle().sources).filter((each) => each.startsWith(prefix));
  for (const id of ids) map.removeSource(id);
}

function addSource(map: MapLibreMap, { sources, layers, sprite }: SourceStyle): void {
  const before = findFirstPageLayer(map);
  if (sprite !== undefined) map.setSprite(sprite);
  for (const [id, source] of Object.entries(sources)) map.addSource(prefix + id, source);
  for (const layer of layers) {
    const source = 'source' in layer && typeof layer.source === 'string' ? { source: prefix + layer.source } : {};
    map.addLayer({ ...layer, ...source, id: prefix + layer.id }, before);
  }
}

/**
 * Shows a base map of the installation above the offline map and below everything else, and lets the user choose. The
 * offline map stays where the chosen one cannot be loaded.
 */
export class MapSourceControl implements IControl {
  readonly #sources: readonly MapSource[];
  readonly #theme: Theme;
  readonly #element = document.createElement('div');
  readonly #select = document.createElement('select');
  readonly #status = document.createElement('span');
  /** Counts the choices: an older one that loads later is not shown. */
  #choice = 0;

  constructor(sources: readonly MapSource[], theme: Theme) {
    this.#sources = sources;
    this.#theme = theme;
  }

  onAdd(map: MapLibreMap): HTMLElement {
    const chosen = readChoice(this.#sources);
    this.#element.className = 'maplibregl-ctrl maplibregl-ctrl-group map-source';
    this.#status.setAttribute('role', 'status');
    this.#select.setAttribute('aria-label', i18next.t('mapView.source'));
    this.#select.append(
      ...this.#sources.map(({ name }) => new Option(name)),
      new Option(i18next.t('mapView.offline'), offlineValue),
    );
    this.#select.value = chosen?.name ?? offlineValue;
    this.#select.addEventListener('change', () => {
      localStorage.setItem(storageName, this.#select.value);
      void this.#show(map, readChoice(this.#sources));
    });
    map.on('error', this.#onError);
    this.#element.append(this.#select, this.#status);
    void this.#show(map, chosen);
    return this.#element;
  }

  onRemove(map: MapLibreMap): void {
    this.#choice += 1;
    map.off('error', this.#onError);
    this.#element.remove();
  }

  async #show(map: MapLibreMap, source: MapSource | null): Promise<void> {
    this.#choice += 1;
    const choice = this.#choice;
    this.#status.textContent = '';
    removeSource(map);
    if (source === null) return;
    try {
      const style = await loadSourceStyle(source, { theme: this.#theme, language: i18next.language });
      if (choice === this.#choice) addSource(map, style);
    } catch (error) {
      if (choice === this.#choice) this.#showFailure(error);
    }
  }

  /** Shows that the chosen map cannot be loaded, and writes the reason to the console. */
  #showFailure(reason: unknown): void {
    this.#status.textContent = i18next.t('mapView.sourceFailed');
    console.warn('The base map cannot be loaded.', reason);
  }

  readonly #onError = (event: ErrorEvent): void => {
    const { sourceId } = event as ErrorEvent & { readonly sourceId?: string };
    if (sourceId?.startsWith(prefix) === true) this.#showFailure(event.error);
    else console.error(event.error);
  };
}
