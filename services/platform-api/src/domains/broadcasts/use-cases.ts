import { randomBytes } from 'node:crypto';
import { BusError, broadcastVoice, callUseCase, decodeVoice } from '@fleet/bus';
import { AppError, validationError } from '@fleet/service-kit';
import { saveVoice } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { requireCamera } from '../dashcam/use-cases.ts';
import { groupAndDescendantIds } from '../vehicle-groups/queries.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle, visibleVehicles } from '../vehicles/visibility.ts';
import { type BroadcastBody, type BroadcastResponse, maxAudioBytes, maxVehicles } from './schema.ts';
import type { SpeechProvider } from './speech-provider.ts';

/** Dependencies of broadcasts. */
type BroadcastDeps = Pick<Deps, 'bus' | 'log' | 'records' | 'redis'> & { readonly speech: SpeechProvider };

type VehicleResult = BroadcastResponse['vehicles'][number];

const decodeTimeoutMs = 25_000;
/** Wait for the device, and the longest voice. */
const deviceTimeoutMs = 30_000;
const longestVoiceMs = 60_000;

/** Plays an audio file, or text rendered as speech, to the drivers of vehicles; resolves when all have played it. */
export async function broadcast(
  deps: BroadcastDeps,
  caller: Caller,
  body: BroadcastBody,
  correlationId: string,
): Promise<BroadcastResponse> {
  const vehicles = await findVehicles(deps, caller, body);
  const file = await readAudio(deps, body);
  const voiceId = randomBytes(16).toString('hex');
  await saveVoice(deps.redis, 'file', voiceId, file);
  const { seconds } = await callMedia(
    callUseCase(deps.bus, decodeVoice, { voiceId }, { timeoutMs: decodeTimeoutMs, correlationId }),
  );
  const channel = body.channel_id ?? 1;
  for (const { _id, accountId } of vehicles)
    await audit(
      deps,
      { ...caller, accountId },
      'video.broadcast',
      { type: 'vehicles', id: _id },
      { channel_id: channel },
    );
  const results = vehicles.map((vehicle) => playTo(deps, vehicle, { channel, voiceId, correlationId }));
  return { seconds, vehicles: await Promise.all(results) };
}

/** Returns the vehicles of a request; throws for one that the caller may not command. */
async function findVehicles(deps: BroadcastDeps, caller: Caller, body: BroadcastBody): Promise<Vehicle[]> {
  const { vehicle_ids: ids, group_id: groupId } = body;
  if ((ids === undefined) === (groupId === undefined))
    throw validationError([{ path: '/vehicle_ids', message: 'or group_id is required, and not both' }]);
  if (ids !== undefined) {
    const found = [...new Set(ids)].map((id) => visibleVehicle(deps, caller, id, 'commands'));
    return (await Promise.all(found)).map(({ vehicle }) => vehicle);
  }
  const groups = new Set(await groupAndDescendantIds(deps, caller, Number(groupId)));
  if (groups.size === 0) throw new AppError('not_found', `There is no group ${groupId}.`);
  const members = (await visibleVehicles(deps, caller)).filter(({ vehicle }) => isIn(vehicle, groups));
  const vehicles = members.filter(({ permissions }) => permissions.includes('commands')).map(({ vehicle }) => vehicle);
  if (members.length > 0 && vehicles.length === 0)
    throw new AppError('permission_denied', `The permission commands on the vehicles of group ${groupId} is missing.`);
  if (vehicles.length > maxVehicles)
    throw new AppError('limit_reached', `The group has ${vehicles.length} vehicles; the limit is ${maxVehicles}.`);
  return vehicles;
}

const isIn = ({ groupIds }: Vehicle, groups: ReadonlySet<number>): boolean => groupIds.some((id) => groups.has(id));

/** Returns the audio file of a request, or of its text. */
async function readAudio({ speech }: BroadcastDeps, body: BroadcastBody): Promise<Buffer> {
  const { audio, content_base64: base64, text, language = null } = body;
  if ([audio, base64, text].filter((each) => each !== undefined).length !== 1)
    throw validationError([{ path: '/audio', message: 'or content_base64 or text is required, and only one of them' }]);
  if (text !== undefined) return speech.render({ text, language });
  const file = audio?.bytes ?? Buffer.from(base64 ?? '', 'base64');
  if (file.length === 0)
    throw validationError([{ path: '/audio', message: 'must be a file of multipart/form-data that is not empty' }]);
  if (file.length > maxAudioBytes) throw new AppError('body_too_large', 'The audio file is larger than 4 MiB.');
  return file;
}

async function callMedia<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    if (cause instanceof BusError)
      throw new AppError('unavailable', 'No media server responds at the moment. Retry later.', { cause });
    throw cause;
  }
}

async function playTo(
  { bus, log }: BroadcastDeps,
  vehicle: Vehicle,
  request: { readonly channel: number; readonly voiceId: string; readonly correlationId: string },
): Promise<VehicleResult> {
  const { _id } = vehicle;
  const { channel, voiceId, correlationId } = request;
  try {
    const { imei } = requireCamera(vehicle, channel);
    const options = { timeoutMs: deviceTimeoutMs + longestVoiceMs, correlationId };
    await callUseCase(bus, broadcastVoice, { imei, channel, voiceId }, options);
    return { vehicle_id: _id, is_played: true, error: null };
  } catch (error) {
    if (error instanceof AppError)
      return { vehicle_id: _id, is_played: false, error: { code: error.code, message: error.message } };
    if (!(error instanceof BusError)) throw error;
    log.warn({ err: error, vehicleId: _id }, 'could not broadcast to a vehicle');
    const message = 'Devices cannot be reached at the moment. Retry.';
    return { vehicle_id: _id, is_played: false, error: { code: 'unavailable', message } };
  }
}
