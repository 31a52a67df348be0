import type { FeatureCollection } from 'geojson';
import { LngLatBounds, type Map as MapLibreMap, type MapMouseEvent } from 'maplibre-gl';
import type { LiveStore } from '../live/live-store.ts';
import type { FleetMarks, Viewport } from '../live/protocol.ts';
import type { ThemeColors } from '../theme/tokens.ts';
import { createMap } from './create-map.ts';
import { FramePacer } from './frame-pacer.ts';
import {
  addAreaLayers,
  addLabelLayers,
  findArea,
  type MapArea,
  setSourceData,
  showOverlays,
  toClusterLabels,
} from './map-overlays.ts';
import type { MapPlace } from './map-place.ts';
import { type Emphasis, MarkBuffer } from './mark-buffer.ts';
import { createDistance, type FoundMark, findMark, getWorldPx } from './mark-finder.ts';
import { toMercatorX, toMercatorY } from './mercator.ts';
import type { OverlayName } from './overlay-names.ts';
import type { Bounds } from './shapes.ts';
import { createLabels } from './vehicle-labels.ts';
import { getFrameTimeS, VehicleLayer } from './vehicle-layer.ts';

const labelIntervalMs = 500;
/** The origin of the positions moves with the map, before 32 bits become coarse. */
const maxOriginDistancePx = 2 ** 17;
const glideS = 1;
/** A shorter way is invisible: it is drawn once. */
const minGlidePx = 1;
const fitPadding = 60;
const maxFitZoom = 14;
const selectedZoom = 13;
const moveMs = 400;

interface FleetMapListener {
  readonly onSelect: (vehicleId: number | undefined) => void;
  readonly onMove: (place: MapPlace, viewport: Viewport) => void;
  /** The user moved the map. */
  readonly onDrag: () => void;
  /** A geofence or a route was clicked. */
  readonly onArea: (area: MapArea) => void;
  /** A place was chosen with the context menu. */
  readonly onPlace: (latitude: number, longitude: number) => void;
}

interface FleetMapOptions {
  readonly theme: ThemeColors;
  readonly language: string;
  readonly place: MapPlace | undefined;
  readonly isMotionReduced: boolean;
}

/**
 * Manages the live map: draws the vehicles of the store, and follows them. Not part of React: positions change ten
 * times a second.
 */
export class FleetMap {
  readonly #map: MapLibreMap;
  readonly #store: LiveStore;
  readonly #listener: FleetMapListener;
  readonly #options: FleetMapOptions;
  readonly #buffer = new MarkBuffer();
  readonly #layer: VehicleLayer;
  readonly #frames: FramePacer;
  #selectedId: number | undefined;
  #isFollowing = false;
  #isEditing = false;
  #overlays: readonly OverlayName[] = [];
  #areLabelsDue = true;
  readonly #cleanUps: (() => void)[] = [];

  private constructor(map: MapLibreMap, store: LiveStore, listener: FleetMapListener, options: FleetMapOptions) {
    this.#map = map;
    this.#store = store;
    this.#listener = listener;
    this.#options = options;
    this.#frames = new FramePacer(map);
    this.#layer = new VehicleLayer(this.#buffer, options.theme);
    this.#layer.glideS = options.isMotionReduced ? 0 : glideS;
    addAreaLayers(map, options.theme);
    map.addLayer(this.#layer);
    addLabelLayers(map, options.theme);
    this.#listen();
    this.#onMove();
    this.#writeAll();
  }

  /** Creates the map in an element. An abort removes it. */
  static async create(
    element: HTMLElement,
    store: LiveStore,
    listener: FleetMapListener,
    options: FleetMapOptions,
    removal: AbortSignal,
  ): Promise<FleetMap> {
    const map = await createMap(element, options.theme, removal, options.place);
    const fleetMap = new FleetMap(map, store, listener, options);
    removal.addEventListener('abort', () => fleetMap.#stop());
    return fleetMap;
  }

  /** Emphasizes a vehicle; if it is followed, the map moves with it. */
  select(vehicleId: number | undefined, isFollowing: boolean): void {
    this.#selectedId = vehicleId;
    this.#isFollowing = isFollowing;
    this.#writeAll();
  }

  /** Moves the map to the selected vehicle. */
  showSelected(): void {
    const slot = this.#emphasis.selectedSlot;
    const { columns } = this.#store;
    if (slot === undefined || !columns.hasPosition(slot)) return;
    this.#map.easeTo({
      center: [columns.longitude[slot] ?? 0, columns.latitude[slot] ?? 0],
      zoom: Math.max(this.#map.getZoom(), selectedZoom),
      duration: this.#durationMs,
    });
  }

  setOverlays(overlays: readonly OverlayName[]): void {
    this.#overlays = overlays;
    showOverlays(this.#map, overlays);
    this.#areLabelsDue = true;
  }

  setAreas(name: 'geofences' | 'routes', data: FeatureCollection): void {
    setSourceData(this.#map, name, data);
  }

  /** The pointer draws or changes a shape and selects nothing. */
  setEditing(isEditing: boolean): void {
    this.#isEditing = isEditing;
    this.#map.getCanvas().style.cursor = '';
  }

  /** Makes the marks pale while their data is old. */
  setStale(isStale: boolean): void {
    this.#layer.opacity = isStale ? 0.45 : 1;
    this.#map.triggerRepaint();
  }

  /** Shows all vehicles that match the filters. Returns false if none has a position. */
  fit(): boolean {
    const { columns, view } = this.#store;
    const bounds = new LngLatBounds();
    for (let at = 0; at < view.rows.length; at += 2) {
      const slot = view.rows[at] ?? -1;
      if (slot >= 0 && columns.hasPosition(slot))
        bounds.extend([columns.longitude[slot] ?? 0, columns.latitude[slot] ?? 0]);
    }
    if (bounds.isEmpty()) return false;
    this.#map.fitBounds(bounds, { padding: fitPadding, maxZoom: maxFitZoom, animate: false });
    return true;
  }

  /** Shows a part of the world: west, south, east and north. */
  showBounds([west, south, east, north]: Bounds): void {
    const bounds = new LngLatBounds([west, south], [east, north]);
    this.#map.fitBounds(bounds, { padding: fitPadding, maxZoom: maxFitZoom, animate: false });
  }

  /** The map on which a shape is drawn. */
  get base(): MapLibreMap {
    return this.#map;
  }

  /** Latitude and longitude of the middle of the map. */
  get center(): readonly [number, number] {
    const { lat, lng } = this.#map.getCenter().wrap();
    return [lat, lng];
  }

  get #durationMs(): number {
    return this.#options.isMotionReduced ? 0 : moveMs;
  }

  get #emphasis(): Emphasis {
    const selectedSlot = this.#selectedId === undefined ? undefined : this.#store.findSlot(this.#selectedId);
    return { selectedSlot, isFollowing: this.#isFollowing };
  }

  #listen(): void {
    const map = this.#map;
    map.on('move', () => this.#moveOrigin());
    map.on('moveend', () => this.#onMove());
    map.on('click', (event) => this.#onClick(event));
    map.on('contextmenu', ({ lngLat }) => {
      if (!this.#isEditing) this.#listener.onPlace(lngLat.lat, lngLat.wrap().lng);
    });
    map.on('mousemove', (event) => {
      if (this.#isEditing) return;
      const isOnTarget = this.#findAt(event) !== null || findArea(map, event.point) !== null;
      map.getCanvas().style.cursor = isOnTarget ? 'pointer' : '';
    });
    map.on('dragstart', () => this.#listener.onDrag());
    const labelTimer = setInterval(() => this.#drawLabels(), labelIntervalMs);
    this.#cleanUps.push(
      this.#store.onBatch((slots) => this.#onBatch(slots)),
      this.#store.onMarks((marks) => this.#onMarks(marks)),
      () => clearInterval(labelTimer),
      () => this.#frames.stop(),
    );
  }

  #stop(): void {
    for (const cleanUp of this.#cleanUps) cleanUp();
  }

  #onBatch(slots: readonly number[]): void {
    const { columns, marks } = this.#store;
    const motion = { timeS: getFrameTimeS(), glideS: this.#layer.glideS };
    if (columns.length > this.#buffer.length) this.#writeAll();
    const way = this.#buffer.moveVehicles(slots, columns, marks, this.#emphasis, motion);
    this.#areLabelsDue = true;
    const selectedSlot = this.#emphasis.selectedSlot;
    if (this.#isFollowing && selectedSlot !== undefined && slots.includes(selectedSlot)) this.#follow(selectedSlot);
    if (way === undefined) return;
    if (way * getWorldPx(this.#map) < minGlidePx) this.#frames.repaintSoon();
    else this.#frames.repaintFor(this.#layer.glideS * 1_000);
  }

  #onMarks(marks: FleetMarks): void {
    setSourceData(this.#map, 'clusters', toClusterLabels(marks.clusters, this.#options.language));
    this.#writeAll();
  }

  #writeAll(): void {
    this.#buffer.writeAll(this.#store.columns, this.#store.marks, this.#emphasis);
    this.#areLabelsDue = true;
    this.#map.triggerRepaint();
  }

  #moveOrigin(): void {
    const { lng, lat } = this.#map.getCenter();
    const [x, y] = [toMercatorX(lng), toMercatorY(lat)];
    const [originX, originY] = this.#buffer.origin;
    const distancePx = Math.max(Math.abs(x - originX), Math.abs(y - originY)) * getWorldPx(this.#map);
    if (distancePx < maxOriginDistancePx) return;
    this.#buffer.moveOrigin([x, y], this.#store.columns, this.#store.marks, this.#emphasis);
  }

  #onMove(): void {
    this.#moveOrigin();
    this.#areLabelsDue = true;
    const { lng, lat } = this.#map.getCenter().wrap();
    const zoom = this.#map.getZoom();
    const bounds = this.#map.getBounds();
    this.#listener.onMove(
      { latitude: lat, longitude: lng, zoom },
      { zoom, bounds: [bounds.getWest(), bounds.getSouth(), bounds.getEast(), bounds.getNorth()] },
    );
  }

  #follow(slot: number): void {
    const { columns } = this.#store;
    const center: [number, number] = [columns.longitude[slot] ?? 0, columns.latitude[slot] ?? 0];
    this.#map.easeTo({ center, duration: this.#durationMs });
  }

  #onClick(event: MapMouseEvent): void {
    if (this.#isEditing) return;
    const found = this.#findAt(event);
    if (found === null) {
      const area = findArea(this.#map, event.point);
      if (area !== null) this.#listener.onArea(area);
      return;
    }
    if ('slot' in found) this.#listener.onSelect(this.#store.vehicleAt(found.slot)?.id);
    else this.#map.easeTo({ center: found.center, zoom: this.#map.getZoom() + 2, duration: this.#durationMs });
  }

  #findAt({ point }: MapMouseEvent): FoundMark | null {
    return findMark(this.#store, createDistance(this.#map, point.x, point.y));
  }

  /** Draws the names of the vehicles on screen, at most twice a second. */
  #drawLabels(): void {
    if (!this.#areLabelsDue) return;
    this.#areLabelsDue = false;
    const labels = createLabels(this.#store, {
      bounds: this.#map.getBounds(),
      selectedSlot: this.#emphasis.selectedSlot,
      hasAllLabels: this.#overlays.includes('labels'),
    });
    setSourceData(this.#map, 'labels', labels);
  }
}
