import type { FeatureCollection } from 'geojson';
import type { LngLatBounds } from 'maplibre-gl';
import type { LiveStore } from '../live/live-store.ts';

/** Too many names cover each other and the map. */
const maxLabels = 150;

interface LabelOptions {
  readonly bounds: LngLatBounds;
  /** The selected vehicle always has its name. */
  readonly selectedSlot: number | undefined;
  /** Whether the other vehicles have names, too. */
  readonly hasAllLabels: boolean;
}

/** Returns the names of the vehicles within the bounds; only that of the selected one if they are too many. */
export function createLabels(store: LiveStore, options: LabelOptions): FeatureCollection {
  const { columns, marks } = store;
  const { bounds, selectedSlot, hasAllLabels } = options;
  const slots = selectedSlot === undefined ? [] : [selectedSlot];
  const length = hasAllLabels ? columns.length : 0;
  for (let slot = 0; slot < length; slot += 1) {
    if (marks.drawn[slot] !== 1 || slot === selectedSlot || !columns.hasPosition(slot)) continue;
    if (!bounds.contains([columns.longitude[slot] ?? 0, columns.latitude[slot] ?? 0])) continue;
    slots.push(slot);
    if (slots.length > maxLabels)
      return toLabels(store, slots.slice(0, selectedSlot === undefined ? 0 : 1), selectedSlot);
  }
  return toLabels(store, slots, selectedSlot);
}

const toLabels = (store: LiveStore, slots: readonly number[], selectedSlot: number | undefined): FeatureCollection => ({
  type: 'FeatureCollection',
  features: slots.flatMap((slot) => {
    const vehicle = store.vehicleAt(slot);
    if (vehicle === undefined || vehicle.position === null) return [];
    const { latitude, longitude } = vehicle.position;
    return [
      {
        type: 'Feature' as const,
        properties: { name: vehicle.name, isSelected: slot === selectedSlot },
        geometry: { type: 'Point' as const, coordinates: [longitude, latitude] },
      },
    ];
  }),
});
