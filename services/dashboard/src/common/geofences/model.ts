import type { components } from '@fleet/api-client';
import type { Feature, FeatureCollection } from 'geojson';
import { type Bounds, type Shape, toGeometry, toPixelsAtZoom0 } from '../map/shapes.ts';

export type Geofence = components['schemas']['Geofence'];
type GeofenceEvent = Geofence['notify_on'][number];

export const geofenceEvents = ['enter', 'exit', 'dwell'] as const satisfies readonly GeofenceEvent[];

/** The record as the form edits it: an empty text is an absent value. The shape is beside it, on the map. */
export interface GeofenceForm {
  readonly name: string;
  readonly description: string;
  readonly color: string;
  readonly notify_on: readonly GeofenceEvent[];
  readonly dwell_minutes: string;
  readonly speed_limit_kmh: string;
  readonly schedule: Geofence['schedule'];
  readonly vehicles: readonly number[];
  readonly groups: readonly number[];
  readonly push_to_terminal: boolean;
}

export const emptyForm: GeofenceForm = {
  name: '',
  description: '',
  color: '',
  notify_on: ['enter', 'exit'],
  dwell_minutes: '10',
  speed_limit_kmh: '',
  schedule: null,
  vehicles: [],
  groups: [],
  push_to_terminal: false,
};

export const toForm = (geofence: Geofence): GeofenceForm => ({
  name: geofence.name,
  description: geofence.description ?? '',
  color: geofence.color ?? '',
  notify_on: geofence.notify_on,
  dwell_minutes: geofence.dwell_seconds === null ? emptyForm.dwell_minutes : String(geofence.dwell_seconds / 60),
  speed_limit_kmh: geofence.speed_limit_kmh === null ? '' : String(geofence.speed_limit_kmh),
  schedule: geofence.schedule,
  vehicles: geofence.vehicles,
  groups: geofence.groups,
  push_to_terminal: geofence.push_to_terminal,
});

export const toShape = ({ type, coordinates, radius_m: radiusM, width_m: widthM }: Geofence): Shape => ({
  kind: type,
  positions: coordinates.map(([latitude = 0, longitude = 0]) => [latitude, longitude]),
  radiusM,
  widthM,
});

type Body = Readonly<Record<string, unknown>>;

/** Returns a number for the body. A text that is no number stays a text, which is refused. */
const toNumber = (text: string, factor = 1): number | string | null => {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return Number.isFinite(Number(trimmed)) ? Math.round(Number(trimmed) * factor) : trimmed;
};

const toShapeBody = (shape: Shape | null): Body =>
  shape === null
    ? {}
    : { type: shape.kind, coordinates: shape.positions, radius_m: shape.radiusM, width_m: shape.widthM };

/** Returns the whole body of a geofence. */
export function toBody(form: GeofenceForm, shape: Shape | null): Body {
  return {
    name: form.name.trim(),
    ...toShapeBody(shape),
    description: form.description.trim() || null,
    color: form.color || null,
    notify_on: geofenceEvents.filter((event) => form.notify_on.includes(event)),
    dwell_seconds: form.notify_on.includes('dwell') ? toNumber(form.dwell_minutes, 60) : null,
    speed_limit_kmh: toNumber(form.speed_limit_kmh),
    schedule: form.schedule,
    vehicles: form.vehicles,
    groups: form.groups,
    push_to_terminal: form.push_to_terminal,
  };
}

const shapeFields = ['type', 'coordinates', 'radius_m', 'width_m'] as const;

/** Returns the fields that differ. The fields of the shape belong together. */
export function toChange(from: Body, to: Body): Body {
  const isChanged = (field: string): boolean => JSON.stringify(from[field]) !== JSON.stringify(to[field]);
  const hasOtherShape = shapeFields.some(isChanged);
  const isSent = (field: string): boolean =>
    shapeFields.some((each) => each === field) ? hasOtherShape : isChanged(field);
  return Object.fromEntries(Object.entries(to).filter(([field]) => isSent(field)));
}

/** Returns the geofences for the map, without the one that is edited. The edited corridor keeps its band. */
export function toFeatures(
  geofences: readonly Geofence[],
  editedId: number | null,
  shape: Shape | null,
): FeatureCollection {
  const others = geofences
    .filter(({ id }) => id !== editedId)
    .map((geofence) => toFeature(toShape(geofence), { id: geofence.id, name: geofence.name, color: geofence.color }));
  const band = shape?.kind === 'corridor' ? [toFeature(shape, { isBand: true })] : [];
  return { type: 'FeatureCollection', features: [...others, ...band] };
}

const toFeature = (shape: Shape, properties: object): Feature => ({
  type: 'Feature',
  properties: { ...properties, width0: toPixelsAtZoom0(shape.widthM ?? 0, shape.positions[0]?.[0] ?? 0) },
  geometry: toGeometry(shape),
});

/** Returns the bounds of geofences; null without any. */
export function boundsOfGeofences(geofences: readonly Pick<Geofence, 'bbox'>[]): Bounds | null {
  if (geofences.length === 0) return null;
  // South, west, north and east.
  const side = (index: number): number[] => geofences.map(({ bbox }) => bbox[index] ?? 0);
  return [Math.min(...side(1)), Math.min(...side(0)), Math.max(...side(3)), Math.max(...side(2))];
}
