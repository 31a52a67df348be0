import { randomBytes } from 'node:crypto';
import { BusError, callIdempotentUseCase, captureMedia } from '@fleet/bus';
import { AppError, defineRoute, Reply, type RequestContext, type Route } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults } from '../routes/command-context.ts';
import { commandErrors } from '../routes/responses.ts';
import { devicePath } from './parameters.ts';

const integer = (minimum: number, maximum: number, description: string, example: number) =>
  Type.Integer({ minimum, maximum, description, examples: [example] });

const body = Type.Object(
  {
    channel: Type.Optional(integer(1, 255, 'Camera channel; 1 by default.', 1)),
    kind: Type.Optional(
      Type.Union([Type.Literal('photo'), Type.Literal('clip')], {
        description: 'photo (default): pictures. clip: live video as MP4.',
      }),
    ),
    quality: Type.Optional(
      Type.String({
        pattern: '^([Ll][Oo][Ww]|[Mm][Ee][Dd][Ii][Uu][Mm]|[Hh][Ii][Gg][Hh]|[Mm][Aa][Xx])$',
        errorMessage: 'must be LOW, MEDIUM, HIGH or MAX',
        description:
          'LOW: 320 by 240. MEDIUM (default): 640 by 480. HIGH: 1024 by 768. MAX: the best that the camera has. Case does not matter.',
        examples: ['HIGH'],
      }),
    ),
    count: Type.Optional(integer(1, 10, 'Number of pictures; 1 by default.', 1)),
    interval_seconds: Type.Optional(integer(0, 60, 'Time between two pictures; 0 by default.', 0)),
    duration_seconds: Type.Optional(integer(1, 30, 'Length of a clip; 10 by default.', 10)),
    wait: Type.Optional(integer(0, 60, 'Seconds to wait for the files; 20 by default.', 20)),
    wake: Type.Optional(
      Type.Boolean({ description: 'Wakes a sleeping device first. Default: true.', examples: [true] }),
    ),
  },
  { title: 'MediaCapture' },
);

/** The record of the Platform API. */
const response = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: 'Number of the record.', examples: [1204] }),
    capture_id: Type.String({
      pattern: '^[0-9a-f]{24}$',
      description: 'Id of the capture in paths.',
      examples: ['66a1f0c2d4e5b6a7c8d9e0f2'],
    }),
    vehicle_id: Type.Integer({ minimum: 1, description: 'Vehicle of the device.', examples: [7] }),
    channel_id: Type.Integer({ minimum: 0, description: 'Camera channel.', examples: [1] }),
    quality: Type.String({ description: 'LOW, MEDIUM, HIGH or MAX.', examples: ['HIGH'] }),
    status: Type.Union([Type.Literal('pending'), Type.Literal('completed'), Type.Literal('expired')], {
      description: 'pending: the files have not all arrived. expired: they did not arrive in 10 minutes.',
    }),
    method: Type.Union([Type.Literal('terminal'), Type.Literal('stream'), Type.Null()], {
      description: 'terminal: the terminal took pictures. stream: recorded from live video. null: not known yet.',
    }),
    error: Type.Union([Type.String(), Type.Null()], {
      description: 'Reason of a failure, as a sentence.',
      examples: [null],
    }),
    requested_at: Type.String({
      format: 'date-time',
      description: 'Time of the request.',
      examples: ['2026-08-01T02:00:00.000Z'],
    }),
    media: Type.Array(Type.Object({}, { additionalProperties: true }), {
      description: 'Files that have arrived, as `Media` of the Platform API.',
    }),
  },
  { title: 'Capture', additionalProperties: true },
);

const defaultWaitSeconds = 20;
/** Below the time-out of a request, so that its error is that of the device. */
const busTimeoutMs = 94_000;

export const mediaCapture = (deps: Deps) => {
  const route = {
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    method: 'post',
    path: '/:imei/media-capture',
    operationId: 'captureMedia',
    summary: 'Take pictures, or record a clip',
    description:
      'Requests pictures from a camera, or records live video, and waits for the files. If the terminal cannot take pictures, one frame of live video is recorded instead. A capture that is pending after `wait` continues; GET /api/dashcam-captures/:capture_id of the Platform API returns it.',
    tags: ['Video service'],
    params: devicePath,
    body,
    bodyIsOptional: true,
    response,
    extraSuccesses: { 200: 'The files have arrived.', 202: 'Pending; `Location` is the path of the capture.' },
    errors: {
      ...commandErrors,
      404: 'No vehicle has this device, the device is not connected, or the camera is disabled.',
      413: 'The body is larger than 16 KiB.',
      415: 'The body is not plain UTF-8.',
      429: 'Too many requests or captures, or the device is busy.',
      502: 'The device has no such camera, or neither a picture nor live video could be captured.',
    },
  } as const;
  return defineRoute({
    ...route,
    handle: async ({ params, body: input, context }) => {
      const imei = canonicalImei(params.imei);
      const { isEnded, capture } = await requestCapture(deps, imei, input, route, context);
      if (isEnded) return capture;
      const { capture_id: captureId } = capture as Static<typeof response>;
      return new Reply(202, capture, { Location: `${deps.config.PUBLIC_BASE_URL}/api/dashcam-captures/${captureId}` });
    },
  });
};

/** Calls the one implementation of captures, in platform-api. */
async function requestCapture(
  { bus, guard }: Deps,
  imei: string,
  input: Static<typeof body>,
  route: Pick<Route, 'errors'>,
  context: RequestContext,
) {
  const access = await guard.findAccess(imei, route, context);
  const request = {
    ...toOptions(input),
    imei,
    captureId: randomBytes(12).toString('hex'),
    waitSeconds: input.wait ?? defaultWaitSeconds,
    caller: toHolder(guard.getCaller(context)),
    maySeeFiles: access?.rights.history ?? true,
  };
  try {
    return await callIdempotentUseCase(bus, captureMedia, request, {
      timeoutMs: busTimeoutMs,
      correlationId: context.requestId,
    });
  } catch (cause) {
    if (cause instanceof BusError) throw new AppError('unavailable', 'Captures are unavailable. Retry.', { cause });
    if (cause instanceof AppError && cause.status === 429)
      throw new AppError(cause.code, cause.message, { cause, headers: { 'Retry-After': readRetrySeconds(cause) } });
    throw cause;
  }
}

const toOptions = (input: Static<typeof body>) => ({
  channel: input.channel ?? 1,
  kind: input.kind ?? 'photo',
  quality: (input.quality ?? 'MEDIUM').toUpperCase() as 'LOW' | 'MEDIUM' | 'HIGH' | 'MAX',
  count: input.count ?? 1,
  intervalSeconds: input.interval_seconds ?? 0,
  durationSeconds: input.duration_seconds ?? 10,
  wake: input.wake ?? true,
});

function toHolder(caller: ReturnType<Deps['guard']['getCaller']>) {
  if (caller.kind === 'user') return { kind: 'user', id: caller.userId } as const;
  return caller.kind === 'key' ? ({ kind: 'key', id: caller.keyId } as const) : null;
}

/** Errors cross the bus without headers; their message names the seconds. */
const readRetrySeconds = ({ message }: AppError): string => /Retry in (\d+) second/.exec(message)?.[1] ?? '1';
