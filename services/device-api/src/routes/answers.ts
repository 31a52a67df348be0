import type { Route } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { GeneralAnswer } from '../domain/outcome.ts';

/** Body of every error of the Device API. */
export const apiErrorSchema = Type.Object(
  {
    status: Type.Integer({ minimum: 0, maximum: 65_535, description: 'HTTP status code, repeated from the response.' }),
    error: Type.String({ description: 'What went wrong, in a sentence.' }),
  },
  { additionalProperties: false },
);

export const terminalGeneralResponse = Type.Object(
  {
    response_id: Type.String({
      pattern: '^0x[0-9a-f]{4}$',
      description: 'The command answered, as its JT/T 808 message id in hex.',
      examples: ['0x9101'],
    }),
    result: Type.Union(
      [Type.Literal('success'), Type.Literal('failure'), Type.Literal('incorrectInfo'), Type.Literal('unsupported')],
      { description: 'What the device says; incorrectInfo: it found the command malformed.' },
    ),
  },
  { additionalProperties: false },
);

export const healthCheckEntityResponse = Type.Object(
  { healthy: Type.Boolean({ description: 'True when the device or camera is connected.' }) },
  { additionalProperties: false },
);

/** The border between the code's spelling and the interface's. */
export const shownAnswer = ({ responseId, result }: GeneralAnswer): { response_id: string; result: string } => ({
  response_id: responseId,
  result,
});

/** With DEVICE_API_AUTH=key. */
const credentialErrors = {
  401: 'The header x-api-key is missing or its key is not valid (only where keys are asked for).',
  403: 'The key lacks the scope, or is not valid from this address (only where keys are asked for).',
} as const;

/** The errors of every request that commands a device. */
export const commandErrors: Route['errors'] = {
  400: 'A parameter is missing or invalid, or the command does not fit the device.',
  ...credentialErrors,
  404: 'The device is not connected.',
  429: 'Too many requests, or the device is busy.',
  500: 'Unexpected server error.',
  502: "The device's reply could not be read.",
  503: 'The request ran past the limit of 95 seconds, or devices can not be reached at the moment.',
  504: 'The device did not reply within 90 seconds.',
};

/** The errors of a command that comes with a body. */
export const bodyErrors: Route['errors'] = {
  ...commandErrors,
  400: 'A parameter or the body is missing or invalid, or the command does not fit the device.',
  413: 'The body is larger than 16 KiB.',
  415: 'The body is compressed, or in another charset than UTF-8.',
};

/** The errors of a stream. */
export const streamErrors: Route['errors'] = {
  400: 'A parameter is missing or invalid.',
  ...credentialErrors,
  404: 'The channel is not streaming.',
  429: 'Too many requests, or too many viewers of this channel.',
  500: 'Unexpected server error.',
  502: 'The media server returned an error, or the camera did not connect to it.',
};
