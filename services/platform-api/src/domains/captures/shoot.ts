import type { DeviceCommand, DeviceResponse, Outcome } from '@fleet/bus';
import { cameraShootResponse, tryDecodeBody } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import { readDevice } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { pictureFormat } from './rules.ts';
import type { Capture } from './schema.ts';

/** Dependencies of a command to take pictures. */
export type ShootDeps = Pick<Deps, 'commandClient' | 'partnerChannels' | 'redis'>;

/** Response of a terminal: it takes pictures, it has no such camera, or it cannot take pictures now. */
export type ShootResult =
  | { readonly kind: 'accepted'; readonly multimediaIds: readonly number[] | null }
  | { readonly kind: 'noSuchChannel' }
  | { readonly kind: 'unable' };

/** After this time without a response, live video is recorded instead. */
const responseTimeoutMs = 10_000;

/** Brightness, contrast, saturation and chroma in the middle of their ranges. */
const imageSettings = { brightness: 128, contrast: 64, saturation: 64, chroma: 128 } as const;

/** Results of 0x0805 (JT/T 808-2013 table 84). */
const success = 0;
const channelNotSupported = 2;

/** Requests pictures from the terminal (0x8801). `isRepeated`: an earlier process may have sent the command. */
export async function shoot(
  deps: ShootDeps,
  capture: Capture,
  { correlationId, isRepeated }: { readonly correlationId: string; readonly isRepeated: boolean },
): Promise<ShootResult> {
  const { imei, channelId, count, intervalSeconds, quality, commandId } = capture;
  const edition = (await readDevice(deps.redis, imei))?.edition ?? '2013';
  const { box: _box, ...format } = pictureFormat(quality, edition);
  const command: DeviceCommand = {
    kind: 'takePictures',
    channel: channelId,
    count,
    intervalSeconds,
    isStored: false,
    ...format,
    ...imageSettings,
  };
  const startedAtMs = performance.now();
  const outcome = await deps.commandClient.send({
    imei,
    command,
    correlationId,
    identity: { id: commandId, isRetry: isRepeated },
    timeoutMs: responseTimeoutMs,
    isClaimed: async (claimed) => (await readDevice(deps.redis, claimed)) !== null,
  });
  if (outcome.kind !== 'notConnected') return toShootResult(outcome);
  const timeoutMs = Math.max(1, responseTimeoutMs - (performance.now() - startedAtMs));
  // A device without a session may be connected through a partner.
  return toShootResult((await deps.partnerChannels.send(imei, { command, timeoutMs, correlationId })) ?? outcome);
}

/** Throws if the command could not be sent, because live video could not be started either. */
function toShootResult(outcome: Outcome): ShootResult {
  switch (outcome.kind) {
    case 'answered':
      return readResponse(outcome.answer);
    case 'timedOut':
    case 'unreadable':
      return { kind: 'unable' };
    case 'notConnected':
      throw new AppError('device_not_connected', 'The device is not connected.');
    case 'busy':
      throw new AppError('rate_limited', `The device is busy: ${outcome.detail}`, { headers: { 'Retry-After': '1' } });
    case 'brokerAway':
      throw new AppError('unavailable', 'Devices cannot be reached at the moment. Retry.');
    case 'refused':
      if (outcome.isOurFault !== true) return { kind: 'unable' };
      throw new AppError('internal', 'An unexpected error occurred.', { cause: new Error(outcome.detail) });
    default:
      return outcome satisfies never;
  }
}

function readResponse({ result, message }: DeviceResponse): ShootResult {
  if (message === null || message.id !== cameraShootResponse.id)
    return result === success ? { kind: 'accepted', multimediaIds: null } : { kind: 'unable' };
  const body = Buffer.from(message.bodyBase64, 'base64');
  const response = tryDecodeBody(cameraShootResponse, body, message.edition);
  if (!response.ok) return { kind: 'unable' };
  if (response.body.result === channelNotSupported) return { kind: 'noSuchChannel' };
  if (response.body.result !== success) return { kind: 'unable' };
  const { multimediaIds = [] } = response.body;
  return { kind: 'accepted', multimediaIds: multimediaIds.length === 0 ? null : [...new Set(multimediaIds)] };
}
