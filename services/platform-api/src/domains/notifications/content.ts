import type { Raised, RuledVehicle } from '../../rules/rule.ts';
import { dedupeKeyOf } from '../../rules/rule.ts';
import type { KnownAddress } from '../geocoding/queries.ts';
import type { Geofence } from '../geofences/schema.ts';
import type { NewNotification } from './record.ts';
import { textsOf } from './type-texts.ts';
import { kindOf, type NotificationKind } from './types.ts';

/** Whom or what a notification is of. */
export type RaisedFor = Pick<RuledVehicle, 'id' | 'accountId' | 'ownerUserId' | 'vehicleNo' | 'driverId'> & {
  /** Canonical number; null where the vehicle has no terminal. */
  readonly imei: string | null;
};

/** Something that is to become a notification. */
export interface ToRaise {
  readonly vehicle: RaisedFor;
  readonly raised: Raised;
  /** Those that hold for the vehicle, where they are known: the name of one that holds the place is its address for the account. */
  readonly geofences?: readonly Geofence[];
}

/** What makes a notification the same one when it is raised again; vehicles without a terminal are told apart by their ids. */
export const keyOf = ({ imei, id }: RaisedFor, raised: Pick<Raised, 'type' | 'subject' | 'atMs'>): string =>
  dedupeKeyOf(imei ?? `vehicle-${id}`, raised);

const attributesLimitBytes = 8 * 1024;

/** The notification that something found becomes. */
export function contentOf(
  { vehicle, raised }: ToRaise,
  language: string,
  { shownImei, address }: { readonly shownImei: string | null; readonly address: KnownAddress | null },
): NewNotification {
  const kind = kindOf(raised.type) ?? unknownKind();
  const texts = textsOf(kind, language);
  const place = placeOf(raised);
  return {
    accountId: vehicle.accountId,
    dedupeKey: keyOf(vehicle, raised),
    type: kind.type,
    title: texts.title,
    description: raised.description ?? texts.description,
    category: kind.category,
    severity: raised.severity ?? kind.severity,
    vehicleId: vehicle.id,
    vehicleNo: vehicle.vehicleNo,
    imei: shownImei ?? vehicle.imei ?? '',
    driverId: raised.driverId === undefined ? vehicle.driverId : raised.driverId,
    latitude: place?.latitude ?? 0,
    longitude: place?.longitude ?? 0,
    address: address?.address ?? null,
    area: address?.area ?? null,
    attributes: fittingAttributes({
      ...raised.attributes,
      ...(kind.type === raised.type ? {} : { reported_type: raised.type }),
      ...(place === null ? { gps_valid: false } : {}),
    }),
    media: [],
    backfilled: raised.backfilled,
    timestamp: Math.round(raised.atMs),
    acknowledgedAt: null,
    acknowledgedBy: null,
  };
}

/** What rules call by a name that is not in the catalogue is told all the same. */
function unknownKind(): NotificationKind {
  const kind = kindOf('unknown_alarm');
  if (kind === undefined) throw new Error('the catalogue has no unknown_alarm');
  return kind;
}

/** Null where no position was ever known (services/platform-api/openapi.json). */
export function placeOf({ latitude, longitude, gpsValid }: Raised): { latitude: number; longitude: number } | null {
  if (!Number.isFinite(latitude) || !Number.isFinite(longitude)) return null;
  return latitude === 0 && longitude === 0 && !gpsValid ? null : { latitude, longitude };
}

/** As they are stored; what does not fit goes, the largest first: an alarm is not lost for its attributes. */
export function fittingAttributes(attributes: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(attributes);
  if (Buffer.byteLength(json) <= attributesLimitBytes) return json;
  const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');
  const [largest] = Object.entries(attributes).toSorted(([, a], [, b]) => sizeOf(b) - sizeOf(a));
  return fittingAttributes(Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== largest?.[0])));
}
