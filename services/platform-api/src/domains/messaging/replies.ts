import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { lastLocation } from '../last-positions/queries.ts';
import { deriveState, lastReceivedMs } from '../last-positions/rules.ts';
import { listAll } from '../notifications/use-cases.ts';
import { createLink } from '../share-links/use-cases.ts';
import type { User } from '../users/schema.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { Intent } from './schema.ts';

type ReplyDeps = Pick<Deps, 'records' | 'database' | 'redis' | 'log' | 'config' | 'thresholds'>;

/** Reply about a vehicle, as text for people and as data for machines. */
interface VehicleReply {
  readonly text: string;
  readonly data: Record<string, unknown> | null;
}

/** Returns the caller for a user who is identified by phone number, without a session or an API key. */
export const resolveCaller = (user: User): Caller => ({
  accountId: user.accountId,
  userId: user._id,
  role: user.role,
  canViewVideo: user.canViewVideo,
  sessionId: null,
  mintedByKeyId: null,
  keyId: null,
  scopes: [],
});

/** Replies to a question of a user about a vehicle that the user may see. */
export async function replyAbout(
  deps: ReplyDeps,
  caller: Caller,
  vehicle: Vehicle,
  intent: Intent,
): Promise<VehicleReply> {
  switch (intent) {
    case 'vehicle_location':
      return locationReply(deps, vehicle);
    case 'vehicle_status':
      return statusReply(deps, vehicle);
    case 'last_alert':
      return lastAlertReply(deps, caller, vehicle);
    case 'share_location':
      return shareReply(deps, caller, vehicle);
  }
}

const formatTimestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;

const findPosition = async (deps: ReplyDeps, { imei }: Vehicle) => (imei === null ? null : lastLocation(deps, imei));

async function locationReply(deps: ReplyDeps, vehicle: Vehicle): Promise<VehicleReply> {
  const location = await findPosition(deps, vehicle);
  if (location === null) return { text: `${vehicle.vehicleNo} has not reported a position yet.`, data: null };
  const { latitude, longitude, timestamp } = location;
  const text = `${vehicle.vehicleNo} was at ${latitude.toFixed(5)}, ${longitude.toFixed(5)} on ${formatTimestamp(timestamp)}.`;
  return { text, data: { vehicle_id: vehicle._id, latitude, longitude, timestamp } };
}

async function statusReply(deps: ReplyDeps, vehicle: Vehicle): Promise<VehicleReply> {
  const location = await findPosition(deps, vehicle);
  const state = deriveState(location, Date.now(), deps.thresholds);
  const words = state === 'never_connected' ? 'has never reported' : `is ${state}`;
  const since = location === null ? '' : `, last seen on ${formatTimestamp(lastReceivedMs(location))}`;
  const speed = state === 'moving' && location !== null ? ` at ${Math.round(location.speed)} kilometres per hour` : '';
  return { text: `${vehicle.vehicleNo} ${words}${speed}${since}.`, data: { vehicle_id: vehicle._id, state } };
}

async function lastAlertReply(deps: ReplyDeps, caller: Caller, vehicle: Vehicle): Promise<VehicleReply> {
  const query = { vehicle_id: String(vehicle._id), sort: '-timestamp' };
  const { items } = await listAll(deps, caller, query, { limit: 1, offset: 0, page: 1 });
  const [newest] = items;
  if (newest === undefined) return { text: `There are no alerts for ${vehicle.vehicleNo}.`, data: null };
  return {
    text: `The last alert for ${vehicle.vehicleNo} is ${newest.title}, on ${formatTimestamp(newest.timestamp)}.`,
    data: { vehicle_id: vehicle._id, notification_id: newest._id, notification_type: newest.type },
  };
}

async function shareReply(deps: ReplyDeps, caller: Caller, vehicle: Vehicle): Promise<VehicleReply> {
  if (!isPermitted(caller.role, 'sharing') || vehicle.accountId !== caller.accountId)
    return { text: `You may not share ${vehicle.vehicleNo}.`, data: null };
  try {
    const body = { vehicle_id: vehicle._id, expires_in_hours: 24, history_minutes: 0 };
    const { slug } = await createLink(deps, caller, body);
    const url = `${deps.config.PUBLIC_BASE_URL}/share/${slug}`;
    return {
      text: `A link to ${vehicle.vehicleNo} for 24 hours has been created.`,
      data: { vehicle_id: vehicle._id, url },
    };
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return { text: `A link to ${vehicle.vehicleNo} cannot be created: ${error.message}`, data: null };
  }
}
