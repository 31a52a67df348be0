import type { Route } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { GeneralResponse } from '../domain/outcome.ts';

/** Body of every error of the Device API. */
export const apiErrorSchema = Type.Object(
  {
    status: Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: 'HTTP status code, repeated from the response.',
      examples: [404],
    }),
    error: Type.String({ description: 'What went wrong, in a sentence.', examples: ['The device is not connected.'] }),
  },
  { title: 'ApiError', additionalProperties: false },
);

export const terminalGeneralResponse = Type.Object(
  {
    response_id: Type.String({
      pattern: '^0x[0-9a-f]{4}$',
      description: 'The executed command, as its JT/T 808 message id in hex.',
      examples: ['0x9101'],
    }),
    result: Type.Union(
      [Type.Literal('success'), Type.Literal('failure'), Type.Literal('incorrectInfo'), Type.Literal('unsupported')],
      { description: "The device's result; incorrectInfo: the command was malformed." },
    ),
  },
  { title: 'TerminalGeneralResponse', additionalProperties: false },
);

const dateTimeSchema = (description: string, example: string) =>
  Type.String({
    format: 'date-time',
    description: `${description} RFC 3339 in the camera's UTC offset.`,
    examples: [example],
  });

/** One recording of a camera; `alarm` has 64 bits. */
const videoResource = Type.Object(
  {
    logical_channel_no: Type.Integer({ minimum: 0, maximum: 255, description: 'Camera channel.', examples: [1] }),
    playback_start_time: dateTimeSchema('Start of the recording.', '2026-08-01T10:00:00+08:00'),
    playback_end_time: dateTimeSchema('End of the recording.', '2026-08-01T10:05:00+08:00'),
    alarm: Type.Unsafe<bigint>({
      type: 'integer',
      format: 'uint64',
      minimum: 0,
      description: 'Alarm flags raised during the recording, bitmask of 64 bits.',
      examples: [0],
    }),
    resource_type: Type.Integer({
      enum: [0, 1, 2, 3],
      description: '0 audio and video, 1 audio only, 2 video only, 3 video with or without audio.',
    }),
    stream_type: Type.Integer({ enum: [0, 1, 2], description: '0 any, 1 main stream, 2 sub stream.' }),
    memory_type: Type.Integer({ enum: [0, 1, 2], description: '0 any storage, 1 main storage, 2 backup storage.' }),
    file_size: Type.Integer({
      minimum: 0,
      maximum: 4_294_967_295,
      description: "Bytes as reported by the camera; an uploaded file's size can differ.",
      examples: [15_728_640],
    }),
  },
  { title: 'VideoResource', additionalProperties: false },
);

export const terminalResourceListResponse = Type.Object(
  {
    total_resources: Type.Integer({
      minimum: 0,
      maximum: 4_294_967_295,
      description: 'Number of recordings that the camera reported.',
      examples: [1],
    }),
    resources: Type.Array(videoResource, { description: 'The recordings.' }),
  },
  { title: 'TerminalResourceListResponse', additionalProperties: false },
);

export const healthCheckEntityResponse = Type.Object(
  { healthy: Type.Boolean({ description: 'True if the device or camera is connected.', examples: [true] }) },
  { title: 'HealthCheckEntityResponse', additionalProperties: false },
);

/** Maps names in code to the interface. */
export const toGeneralResponseBody = ({
  responseId,
  result,
}: GeneralResponse): { response_id: string; result: string } => ({
  response_id: responseId,
  result,
});

/** With DEVICE_API_AUTH=key. */
const credentialErrors = {
  401: 'The header x-api-key is missing or its key is not valid (only if keys are required).',
  403: 'The key lacks the scope, or is not valid from this address (only if keys are required).',
} as const;

/** Errors of every request that commands a device. */
export const commandErrors: Route['errors'] = {
  400: 'A parameter is missing or invalid, or the command does not fit the device.',
  ...credentialErrors,
  404: 'The device is not connected.',
  429: 'Too many requests, or the device is busy.',
  500: 'Unexpected server error.',
  502: "The device's reply could not be read.",
  503: 'The request exceeded 95 seconds, or devices are unavailable at the moment.',
  504: 'The device did not reply within 90 seconds.',
};

/** Errors of a command with a body. */
export const bodyErrors: Route['errors'] = {
  ...commandErrors,
  400: 'A parameter or the body is missing or invalid, or the command does not fit the device.',
  413: 'The body is larger than 16 KiB.',
  415: 'The body is compressed, or in another charset than UTF-8.',
};

/** Errors of a stream. */
export const streamErrors: Route['errors'] = {
  400: 'A parameter is missing or invalid.',
  401: 'The credential is missing (only if keys are required) or not valid, or the token is forged or has expired.',
  403: 'The caller lacks the permission, the key lacks the scope or is not valid from this address, or the token is for another stream.',
  404: 'The channel is not streaming, or its camera is disabled.',
  429: 'Too many requests, or too many viewers of this channel.',
  500: 'Unexpected server error.',
  502: 'The media server returned an error, or the camera did not connect to it.',
};
