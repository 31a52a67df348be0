import { AppError, parseJsonBody, type RequestContext, singleSchema } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { isForm, parseForm } from '../../platform/forms.ts';
import { broadcastBody, broadcastResponse } from './schema.ts';
import { SpeechProvider } from './speech-provider.ts';
import { broadcast } from './use-cases.ts';

/** Above the times that devices have to respond, and the longest voice. */
const timeoutMs = 110_000;

export function broadcastRoutes(deps: Deps): PlatformRoute[] {
  const speech = new SpeechProvider(deps.config);
  return [
    platformRoute({
      method: 'post',
      path: '/dashcam-broadcasts',
      operationId: 'broadcastVoice',
      summary: 'Speak to several drivers',
      description:
        'Plays an audio file, or text where a text-to-speech provider is configured, to the drivers of vehicles or of a group. The response follows when all have played it, and names the vehicles that have not, with the reason.',
      tags: ['Media'],
      // The permissions on the vehicles decide: a share may grant them to any role.
      access: { permission: 'read', scope: 'video' },
      timeoutMs,
      body: broadcastBody,
      bodyTypes: ['application/json', 'multipart/form-data'],
      // Base64 of 4 MiB is a third longer.
      bodyLimitBytes: 6 * 1024 * 1024,
      readBody,
      response: singleSchema(broadcastResponse),
      errors: {
        403: 'The permission `commands` on a vehicle is missing, or the API key has no scope video.',
        404: 'A vehicle is not visible, or there is no such group.',
        409: 'The group has more than 100 vehicles.',
        413: 'The audio file is larger than 4 MiB.',
        502: 'The text-to-speech provider failed.',
        503: 'No text-to-speech provider is configured, or no media server responds.',
      },
      handle: async ({ body, context }) => ({
        data: await broadcast({ ...deps, speech }, getCaller(context), body, context.requestId),
      }),
    }),
  ];
}

/** Reads a JSON body or a form. The fields of a form are strings. */
async function readBody(bytes: Buffer, context: RequestContext): Promise<unknown> {
  if (!isForm(context)) {
    if (bytes.length === 0) throw new AppError('validation_failed', 'A body is required.');
    return parseJsonBody(bytes);
  }
  const { fields, files } = await parseForm(bytes, context);
  const { vehicle_ids: ids, group_id: groupId, channel_id: channelId, ...others } = fields;
  const audio = files.find(({ name }) => name === 'audio');
  return {
    ...others,
    ...(ids === undefined ? {} : { vehicle_ids: ids.split(',').map(toNumber) }),
    ...(groupId === undefined ? {} : { group_id: toNumber(groupId) }),
    ...(channelId === undefined ? {} : { channel_id: toNumber(channelId) }),
    ...(audio === undefined ? {} : { audio }),
  };
}

/** Returns a field as a number; anything else stays a text, which the schema rejects. */
const toNumber = (text: string): number | string => (/^\s*\d{1,15}\s*$/.test(text) ? Number(text) : text);
