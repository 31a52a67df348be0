import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/admit.ts';
import type { Deps } from '../deps.ts';
import { networkConditions } from '../domain/upload.ts';
import { requestUpload } from '../use-cases/request-upload.ts';
import { commandErrors } from './answers.ts';
import { commandContext, commandRoute } from './command-context.ts';
import {
  alarm,
  channel,
  endTime,
  historyStreamTypeOrAny,
  host,
  imei,
  instant,
  memoryTypeOrAny,
  resourceTypeOrAny,
  startTime,
} from './parameters.ts';
import { uploadGeneralResponse } from './videos-answers.ts';

const network = (name: string) =>
  Type.Optional(
    Type.Boolean({ default: true, description: `Permit upload over ${name}; not all three can be false.` }),
  );

const query = Type.Object({
  imei,
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
});

export const videosUpload = (deps: Deps) =>
  defineRoute({
    ...commandRoute(deps),
    method: 'get',
    path: '/videos/upload',
    operationId: 'requestUpload',
    summary: 'Request a clip from a camera',
    description:
      'A clip with an upload is not requested again: `result` is the status of that upload. Device, channel, times, resource_type, stream_type, memory_type and alarm identify a clip.',
    tags: ['Video upload'],
    query,
    response: uploadGeneralResponse,
    errors: {
      ...commandErrors,
      409: 'The camera is already uploading another clip.',
      502: 'The camera refused the upload, or its reply could not be read.',
    },
    handle: async ({ query: asked, context }) => {
      const conditions = networkConditions({
        wifi: asked.wifi ?? true,
        lan: asked.lan ?? true,
        mobileNetwork: asked.mobile_network ?? true,
      });
      const wanted = {
        imei: canonicalImei(asked.imei),
        askedImei: asked.imei,
        channel: asked.channel,
        startMs: instant('start_time', asked.start_time),
        endMs: instant('end_time', asked.end_time),
        host: asked.host,
        port: asked.port === 0 ? undefined : asked.port,
        mediaType: asked.resource_type ?? 3,
        streamType: asked.stream_type ?? 0,
        storageType: asked.memory_type ?? 0,
        alarmFlags: String(asked.alarm ?? 0n),
        conditions,
      };
      const { responseId, result, videoId } = await requestUpload(deps, wanted, commandContext(deps, context));
      return { response_id: responseId, result, video_id: videoId };
    },
  });
