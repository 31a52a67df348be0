import { type Static, Type } from 'typebox';
import type { FormFile } from '../../platform/forms.ts';
import { nullable, recordId } from '../../platform/schemas.ts';

/** Largest audio file. */
export const maxAudioBytes = 4 * 1024 * 1024;

/** Most vehicles of one broadcast. */
export const maxVehicles = 100;

export const broadcastBody = Type.Object({
  vehicle_ids: Type.Optional(
    Type.Array(recordId, {
      minItems: 1,
      maxItems: maxVehicles,
      description: 'Vehicles; in a form, ids separated by commas.',
      examples: [[42, 43]],
    }),
  ),
  group_id: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Vehicles of the group and of the groups below it, instead of ids.' }),
  ),
  channel_id: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 255, description: 'Channel with the loudspeaker; 1 by default.' }),
  ),
  audio: Type.Optional(
    Type.Unsafe<FormFile>({
      description: 'Part of multipart/form-data: WAV, MP3, OGG, FLAC, AAC or M4A of up to 60 seconds and 4 MiB.',
    }),
  ),
  content_base64: Type.Optional(
    Type.String({ maxLength: 6_000_000, description: 'The same file in base64, for JSON bodies.' }),
  ),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 500,
      description: 'Text to speak, where a provider is configured.',
      examples: ['Please call the office.'],
    }),
  ),
  language: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
      errorMessage: 'must be a language tag such as en or pt-BR',
      description: 'Language of the text, such as en-IN.',
      examples: ['en-IN'],
    }),
  ),
});
export type BroadcastBody = Static<typeof broadcastBody>;

export const broadcastResponse = Type.Object(
  {
    seconds: Type.Number({ minimum: 0, description: 'Duration of the voice.' }),
    vehicles: Type.Array(
      Type.Object({
        vehicle_id: recordId,
        is_played: Type.Boolean(),
        error: nullable(
          Type.Object({
            code: Type.String({ examples: ['device_not_connected'] }),
            message: Type.String(),
          }),
        ),
      }),
    ),
  },
  { title: 'Broadcast' },
);
export type BroadcastResponse = Static<typeof broadcastResponse>;
