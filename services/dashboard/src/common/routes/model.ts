import type { components } from '@fleet/api-client';
import type { FeatureCollection } from 'geojson';
import type { Bounds, Position, Shape } from '../map/shapes.ts';

export type Route = components['schemas']['Route'];
type RouteEvent = Route['notify_on'][number];

export const routeEvents = [
  'deviation',
  'return',
  'waypoint_arrival',
  'completed',
] as const satisfies readonly RouteEvent[];

/** What a waypoint has besides its position, as the form edits it. */
export interface Stop {
  readonly name: string;
  readonly radius_m: string;
  readonly stop_minutes: string;
}

/** The record as the form edits it: an empty text is an absent value. The positions of waypoints are on the map. */
export interface RouteForm {
  readonly name: string;
  readonly description: string;
  readonly color: string;
  readonly profile: Route['profile'];
  readonly deviation_m: string;
  readonly notify_on: readonly RouteEvent[];
  readonly speed_limit_kmh: string;
  readonly schedule: Route['schedule'];
  readonly active: boolean;
  readonly stops: readonly Stop[];
  /** Null: the server draws the path through the waypoints. */
  readonly path: readonly Position[] | null;
}

export const emptyStop: Stop = { name: '', radius_m: '50', stop_minutes: '' };

export const emptyForm: RouteForm = {
  name: '',
  description: '',
  color: '',
  profile: 'car',
  deviation_m: '100',
  notify_on: routeEvents,
  speed_limit_kmh: '',
  schedule: null,
  active: true,
  stops: [],
  path: null,
};

const toPosition = ([latitude = 0, longitude = 0]: readonly number[]): Position => [latitude, longitude];

export const toForm = (route: Route): RouteForm => ({
  name: route.name,
  description: route.description ?? '',
  color: route.color ?? '',
  profile: route.profile,
  deviation_m: String(route.deviation_m),
  notify_on: routeEvents.filter((event) => route.notify_on.includes(event)),
  speed_limit_kmh: route.speed_limit_kmh === null ? '' : String(route.speed_limit_kmh),
  schedule: route.schedule,
  active: route.active,
  stops: route.waypoints.map(({ name, radius_m: radiusM, stop_seconds: seconds }) => ({
    name: name ?? '',
    radius_m: String(radiusM),
    stop_minutes: seconds === null ? '' : String(seconds / 60),
  })),
  path: route.path.map(toPosition),
});

/** Returns the waypoints as a line. A route without waypoints has its start and its end. */
export const toShape = ({ waypoints, path }: Route): Shape => ({
  kind: 'corridor',
  positions:
    waypoints.length > 0
      ? waypoints.map(({ lat, lng }) => [lat, lng])
      : [path[0], path.at(-1)].flatMap((point) => (point === undefined ? [] : [toPosition(point)])),
  radiusM: null,
  widthM: null,
});

const isSame = (a: Position | undefined, b: Position | undefined): boolean => a?.[0] === b?.[0] && a?.[1] === b?.[1];

/** Returns the stops of changed positions: a moved waypoint keeps its stop, an added one gets an empty stop. */
export function alignStops(before: readonly Position[], after: readonly Position[], stops: readonly Stop[]): Stop[] {
  if (before.length === after.length) return after.map((_, index) => stops[index] ?? emptyStop);
  let start = 0;
  while (start < Math.min(before.length, after.length) && isSame(before[start], after[start])) start += 1;
  let end = 0;
  while (
    end < Math.min(before.length, after.length) - start &&
    isSame(before[before.length - 1 - end], after[after.length - 1 - end])
  )
    end += 1;
  return after.map((_, index) => {
    if (index < start) return stops[index] ?? emptyStop;
    const fromEnd = after.length - index;
    return (fromEnd <= end ? stops[before.length - fromEnd] : undefined) ?? emptyStop;
  });
}

type Body = Readonly<Record<string, unknown>>;

/** Returns a number for the body. A text that is no number stays a text, which is refused. */
const toNumber = (text: string, factor = 1): number | string | null => {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  return Number.isFinite(Number(trimmed)) ? Math.round(Number(trimmed) * factor) : trimmed;
};

/** Returns the whole body of a route. */
export function toBody(form: RouteForm, shape: Shape | null): Body {
  const positions = shape?.positions ?? [];
  return {
    name: form.name.trim(),
    description: form.description.trim() || null,
    color: form.color || null,
    profile: form.profile,
    deviation_m: toNumber(form.deviation_m) ?? '',
    notify_on: routeEvents.filter((event) => form.notify_on.includes(event)),
    speed_limit_kmh: toNumber(form.speed_limit_kmh),
    schedule: form.schedule,
    active: form.active,
    waypoints: positions.map(([lat, lng], index) => {
      const stop = form.stops[index] ?? emptyStop;
      return {
        lat,
        lng,
        name: stop.name.trim() || null,
        radius_m: toNumber(stop.radius_m) ?? 50,
        stop_seconds: toNumber(stop.stop_minutes, 60),
      };
    }),
    path: form.path,
  };
}

/** Returns the fields that differ. */
export const toChange = (from: Body, to: Body): Body =>
  Object.fromEntries(
    Object.entries(to).filter(([field, value]) => JSON.stringify(from[field]) !== JSON.stringify(value)),
  );

const toLngLat = ([latitude = 0, longitude = 0]: readonly number[]): [number, number] => [longitude, latitude];

interface RouteLine {
  readonly id: number | null;
  readonly name: string;
  readonly color: string | null;
  readonly path: readonly (readonly number[])[];
}

/** Returns the routes for the map. The edited one is its new path. */
export function toFeatures(
  routes: readonly Route[],
  editedId: number | null,
  path: readonly Position[] | null,
  color: string,
): FeatureCollection {
  const lines: readonly RouteLine[] = [
    ...routes.filter(({ id }) => id !== editedId),
    ...(path === null ? [] : [{ id: editedId, name: '', color: color || null, path }]),
  ];
  return {
    type: 'FeatureCollection',
    features: lines.map((line) => ({
      type: 'Feature',
      properties: { id: line.id, name: line.name, color: line.color },
      geometry: { type: 'LineString', coordinates: line.path.map(toLngLat) },
    })),
  };
}

/** Returns the bounds of routes; null without any. */
export function boundsOfRoutes(routes: readonly Pick<Route, 'bbox'>[]): Bounds | null {
  if (routes.length === 0) return null;
  // South, west, north and east.
  const side = (index: number): number[] => routes.map(({ bbox }) => bbox[index] ?? 0);
  return [Math.min(...side(1)), Math.min(...side(0)), Math.max(...side(3)), Math.max(...side(2))];
}
