import { defineRoute, type Route } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { encodeNetworkConditions } from '../domain/upload.ts';
import { requestUpload, type UploadRequest, type UploadRequestResult } from '../use-cases/request-upload.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import {
  alarm,
  channel,
  endTime,
  historyStreamTypeOrAny,
  host,
  imei,
  memoryTypeOrAny,
  parseTimeParameter,
  resourceTypeOrAny,
  startTime,
} from './parameters.ts';
import { commandErrors } from './responses.ts';
import { uploadGeneralResponse } from './upload-responses.ts';

const network = (name: string) =>
  Type.Optional(
    Type.Boolean({ default: true, description: `Permit upload over ${name}; not all three can be false.` }),
  );

/** Parameters in addition to the device. */
export const uploadParameters = {
  channel,
  start_time: startTime,
  end_time: endTime,
  host: Type.Optional({
    ...host,
    description: "FTP server that the camera uploads to; by default this server's.",
    examples: ['ftp.example.com'],
  }),
  port: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 65_535,
      description: "Port of that FTP server; by default, or with 0, this server's.",
      examples: [21],
    }),
  ),
  resource_type: Type.Optional(resourceTypeOrAny),
  stream_type: Type.Optional(historyStreamTypeOrAny),
  memory_type: Type.Optional(memoryTypeOrAny),
  alarm: Type.Optional(alarm),
  wifi: network('Wi-Fi'),
  lan: network('LAN'),
  mobile_network: network('the mobile network'),
};
const query = Type.Object({ imei, ...uploadParameters });

export const uploadErrors: Route['errors'] = {
  409: 'The camera is already uploading another clip.',
  502: 'The camera refused the upload, or its reply could not be read.',
};

/** Maps the parameters to names in code; throws 400 for an invalid time, or without a network. */
export const toUploadRequest = (input: Static<typeof query>): UploadRequest => ({
  imei: canonicalImei(input.imei),
  requestedImei: input.imei,
  channel: input.channel,
  startMs: parseTimeParameter('start_time', input.start_time),
  endMs: parseTimeParameter('end_time', input.end_time),
  host: input.host,
  port: input.port === 0 ? undefined : input.port,
  mediaType: input.resource_type ?? 3,
  streamType: input.stream_type ?? 0,
  storageType: input.memory_type ?? 0,
  alarmFlags: String(input.alarm ?? 0n),
  conditions: encodeNetworkConditions({
    wifi: input.wifi ?? true,
    lan: input.lan ?? true,
    mobileNetwork: input.mobile_network ?? true,
  }),
});

/** Maps names in code to the interface. */
export const toUploadGeneralResponse = ({ responseId, result, videoId }: UploadRequestResult) => ({
  response_id: responseId,
  result,
  video_id: videoId,
});

export const videosUpload = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'get',
    path: '/videos/upload',
    operationId: 'requestUpload',
    summary: 'Request a clip from a camera',
    description:
      'A clip with an upload is not requested again: `result` is the status of that upload. Device, channel, times, resource_type, stream_type, memory_type and alarm identify a clip.',
    tags: ['Video upload'],
    query,
    response: uploadGeneralResponse,
    errors: { ...commandErrors, ...uploadErrors },
    handle: async ({ query: input, context }) =>
      toUploadGeneralResponse(await requestUpload(deps, toUploadRequest(input), createCommandContext(deps, context))),
  });
