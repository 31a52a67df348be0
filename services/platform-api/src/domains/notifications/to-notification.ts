import type { TraceContext } from '@fleet/service-kit';
import type { Finding, RuleVehicle } from '../../rules/rule.ts';
import { dedupeKeyOf } from '../../rules/rule.ts';
import type { KnownAddress } from '../geocoding/queries.ts';
import type { Geofence } from '../geofences/schema.ts';
import type { NewNotification } from './insert-notifications.ts';
import { textsOf } from './type-texts.ts';
import { findTypeDefinition, type TypeDefinition } from './types.ts';

/** Vehicle that a notification is about. */
export type NotificationSubject = Pick<RuleVehicle, 'id' | 'accountId' | 'ownerUserId' | 'vehicleNo' | 'driverId'> & {
  /** Canonical number; null if the vehicle has no terminal. */
  readonly imei: string | null;
};

/** Finding that becomes a notification. */
export interface NotificationRequest {
  readonly vehicle: NotificationSubject;
  readonly raised: Finding;
  /**
   * Geofences that apply to the vehicle, if known. The name of one that contains the position is the address for the
   * account.
   */
  readonly geofences?: readonly Geofence[];
  /** Trace of the report that caused it; the active one by default. */
  readonly trace?: TraceContext | undefined;
}

/**
 * Returns the dedupe key, which makes a repeated finding the same notification. Vehicles without a terminal are
 * identified by their ids.
 */
export const notificationDedupeKey = (
  { imei, id }: NotificationSubject,
  raised: Pick<Finding, 'type' | 'subject' | 'atMs'>,
): string => dedupeKeyOf(imei ?? `vehicle-${id}`, raised);

const attributesLimitBytes = 8 * 1024;

/** Converts a finding to a notification. */
export function toNotification(
  { vehicle, raised }: NotificationRequest,
  language: string,
  { displayImei, address }: { readonly displayImei: string | null; readonly address: KnownAddress | null },
): NewNotification {
  const kind = findTypeDefinition(raised.type) ?? unknownTypeDefinition();
  const texts = textsOf(kind, language);
  const place = findingPosition(raised);
  return {
    accountId: vehicle.accountId,
    dedupeKey: notificationDedupeKey(vehicle, raised),
    type: kind.type,
    title: texts.title,
    description: raised.description ?? texts.description,
    category: kind.category,
    severity: raised.severity ?? kind.severity,
    vehicleId: vehicle.id,
    vehicleNo: vehicle.vehicleNo,
    imei: displayImei ?? vehicle.imei ?? '',
    driverId: raised.driverId === undefined ? vehicle.driverId : raised.driverId,
    latitude: place?.latitude ?? 0,
    longitude: place?.longitude ?? 0,
    address: address?.address ?? null,
    area: address?.area ?? null,
    attributes: truncateAttributes({
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

/** Returns the kind of types that are not in the catalogue, so that they are reported nevertheless. */
function unknownTypeDefinition(): TypeDefinition {
  const kind = findTypeDefinition('unknown_alarm');
  if (kind === undefined) throw new Error('the catalogue has no unknown_alarm');
  return kind;
}

/** Returns the position of a finding, or null if no position was ever known (services/platform-api/openapi.json). */
export function findingPosition({
  latitude,
  longitude,
  gpsValid,
}: Finding): { latitude: number; longitude: number } | null {
  if (!Number.isFinite(latitude) || !Number.isFinite(longitude)) return null;
  return latitude === 0 && longitude === 0 && !gpsValid ? null : { latitude, longitude };
}

/**
 * Serializes attributes for storage. Drops the largest ones if they do not fit, so that an alarm is not lost because of
 * them.
 */
export function truncateAttributes(attributes: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(attributes);
  if (Buffer.byteLength(json) <= attributesLimitBytes) return json;
  const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? '');
  const [largest] = Object.entries(attributes).toSorted(([, a], [, b]) => sizeOf(b) - sizeOf(a));
  return truncateAttributes(Object.fromEntries(Object.entries(attributes).filter(([name]) => name !== largest?.[0])));
}
