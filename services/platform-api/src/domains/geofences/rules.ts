import { validationError } from '@fleet/service-kit';
import { parsePositions, toPairs } from '../../platform/coordinates.ts';
import { omitUndefined, serializeAttributes } from '../../platform/fields.ts';
import { validateSchedule } from '../../platform/schedule.ts';
import type { Change } from '../../store/account-repository.ts';
import type { Geofence, GeofenceBody } from './schema.ts';
import { buildShape, type ShapeInput } from './shapes.ts';

/** Largest number of geofences of an account (docs/reference/areas.md). */
export const maxGeofences = 1_000;

/** Default values of a new geofence. */
export const geofenceDefaults = {
  color: null,
  description: null,
  notifyOn: ['enter', 'exit'],
  dwellSeconds: null,
  speedLimitKmh: null,
  schedule: null,
  vehicles: [],
  groups: [],
  pushToTerminal: false,
  terminalSync: {},
  attributes: '{}',
} as const satisfies Partial<Geofence>;

const unique = <T>(items: readonly T[] | undefined): T[] | undefined => items && [...new Set(items)];

/** Returns the fields that a body changes, except those of the area. */
export const toDetails = (body: GeofenceBody): Change<Geofence> =>
  omitUndefined({
    name: body.name,
    color: body.color,
    description: body.description,
    notifyOn: unique(body.notify_on),
    dwellSeconds: body.dwell_seconds,
    speedLimitKmh: body.speed_limit_kmh,
    schedule: validateSchedule(body.schedule),
    vehicles: unique(body.vehicles),
    groups: unique(body.groups),
    pushToTerminal: body.push_to_terminal,
    attributes: body.attributes === undefined ? undefined : serializeAttributes(body.attributes),
  });

/** Returns true if a body contains a field of the area. */
export const changesShape = (body: GeofenceBody): boolean =>
  [body.type, body.coordinates, body.radius_m, body.width_m].some((field) => field !== undefined);

/**
 * Returns the area that results from a body and the stored area. A change of type drops the size of the previous type.
 */
export function mergeShape(body: GeofenceBody, known?: Geofence): ReturnType<typeof buildShape> {
  const type = body.type ?? known?.type ?? 'polygon';
  const before = known?.type === type ? known : undefined;
  const shape: ShapeInput = {
    type,
    positions:
      body.coordinates === undefined
        ? toPairs(known?.points ?? [])
        : parsePositions(body.coordinates, body.coordinate_order),
    radiusM: body.radius_m === undefined ? (before?.radiusM ?? null) : body.radius_m,
    widthM: body.width_m === undefined ? (before?.widthM ?? null) : body.width_m,
  };
  return buildShape(shape);
}

/** Throws 400 if `notify_on` contains dwell and the dwell time is missing. */
export function assertDwellTime({ notifyOn, dwellSeconds }: Pick<Geofence, 'notifyOn' | 'dwellSeconds'>): void {
  if (notifyOn.includes('dwell') && dwellSeconds === null)
    throw validationError([{ path: '/dwell_seconds', message: 'is required because notify_on contains dwell' }]);
}
