import { defineRoute } from '@fleet/service-kit';
import { assertWebsocketOffered, isWebsocketOffered } from '@fleet/service-kit/websocket';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import { assertMayForce } from '../access/guard.ts';
import { assertOriginPermitted } from '../access/permitted-origins.ts';
import type { Deps } from '../deps.ts';
import { createCommandContext } from '../routes/command-context.ts';
import { channel, imei } from '../routes/parameters.ts';
import { playback } from '../routes/realtime-stream-flv.ts';
import { talk as runTalk } from '../use-cases/talk/talk.ts';

const errors = {
  400: 'A parameter is not valid, or the request does not offer a websocket.',
  401: 'The credentials or the token are missing, expired or not valid.',
  403: 'The caller may not talk, may not use `force`, or the token is for another device, channel or kind.',
  404: 'The device is not connected.',
  409: 'Another user talks to the device.',
  429: 'Too many requests.',
  500: 'An unexpected error occurred.',
  502: 'The camera refused, did not connect, or plays a codec that talk does not support.',
  503: 'No media server accepts streams, or credentials cannot be checked.',
  504: 'The device did not reply in time.',
} as const;

export const talk = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/:imei/:channel/talk',
    operationId: 'talk',
    summary: 'Talk to the driver',
    description:
      'A websocket. The client sends binary messages of 16-bit little-endian PCM, 8 kHz, mono, 20 ms each, and receives the voice of the driver in the same format. One talker a device; docs/reference/video.md lists the close codes.',
    tags: ['Video service'],
    params: Type.Object({ imei, channel }),
    query: Type.Object({
      force: Type.Optional(
        Type.Boolean({ default: false, description: 'True: takes over from another talker; for managers and above.' }),
      ),
      token: playback.token,
    }),
    returns200: false,
    extraSuccesses: { 101: 'The connection is a websocket.' },
    errors,
    scopes: ['video'],
    bucket: 'stream',
    allowHead: false,
    requiredRight: () => 'command',
    handle: async ({ params, query, context }) => {
      const imei = canonicalImei(params.imei);
      // Pages see no status of a refused websocket. A plain request to the same address returns whether the device is busy.
      if (!isWebsocketOffered(context)) await deps.talkTurns.assertFree(imei);
      assertWebsocketOffered(context);
      // Otherwise the token is the credential.
      if (deps.config.DEVICE_API_AUTH === 'off') assertOriginPermitted(deps.config, context.request.get('origin'));
      const request = { imei, channel: params.channel, isForced: query.force === true };
      if (request.isForced) assertMayForce(await deps.guard.findAccess(request.imei, { errors }, context));
      await runTalk(deps, request, context, createCommandContext(deps, context));
    },
  });
