import {
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  Reply,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams } from '../../platform/schemas.ts';
import { toMiningDeviceResponse } from './responses.ts';
import {
  clearDatabaseBody,
  clearedResponseSchema,
  createMiningDeviceBody,
  listMiningDevicesBody,
  miningDeviceResponseSchema,
  updateMiningDeviceBody,
} from './schema.ts';
import {
  clearDatabase,
  createMiningDevice,
  deleteMiningDevice,
  listMiningDevices,
  readMiningDevice,
  updateMiningDevice,
} from './use-cases.ts';

const tags = ['Mining devices'];

export const miningDeviceRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/mining-devices',
    operationId: 'createMiningDevice',
    summary: 'Create a mining device',
    description: 'The number of the device becomes known to partner ingest.',
    tags,
    isIdempotent: true,
    body: createMiningDeviceBody,
    response: singleSchema(miningDeviceResponseSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the device.' },
    errors: { 409: 'Another mining device has this number.' },
    handle: async ({ body, context }) => {
      const device = toMiningDeviceResponse(await createMiningDevice(deps, getCaller(context), body), deps.thresholds);
      return new Reply(201, { data: device }, { Location: `/api/mining-devices/${device.id}` });
    },
  }),
  platformRoute({
    method: 'post',
    path: '/mining-devices/list',
    operationId: 'listMiningDevices',
    summary: 'List mining devices',
    description: 'The body contains the page, the limit and the filters.',
    tags,
    access: { permission: 'read', scope: 'read' },
    body: listMiningDevicesBody,
    bodyIsOptional: true,
    response: pageSchema(miningDeviceResponseSchema),
    handle: async ({ body, context }) => {
      const paging = parsePagination({ page: body.page ?? 1, limit: body.limit });
      const { items, total } = await listMiningDevices(deps, getCaller(context), body, paging);
      return pageResponse(
        { items: items.map((device) => toMiningDeviceResponse(device, deps.thresholds)), total },
        paging,
      );
    },
  }),
  platformRoute({
    method: 'get',
    path: '/mining-devices/:id',
    operationId: 'getMiningDevice',
    summary: 'Get a mining device',
    tags,
    params: idParams,
    response: singleSchema(miningDeviceResponseSchema),
    handle: async ({ params, context }) => ({
      data: toMiningDeviceResponse(await readMiningDevice(deps, getCaller(context), params.id), deps.thresholds),
    }),
  }),
  platformRoute({
    method: 'put',
    path: '/mining-devices/:id',
    operationId: 'updateMiningDevice',
    summary: 'Change a mining device',
    tags,
    params: idParams,
    body: updateMiningDeviceBody,
    response: singleSchema(miningDeviceResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, body, context }) => {
      const version = parseIfMatch(context);
      return {
        data: toMiningDeviceResponse(
          await updateMiningDevice(deps, getCaller(context), params.id, body, version),
          deps.thresholds,
        ),
      };
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/mining-devices/:id',
    operationId: 'deleteMiningDevice',
    summary: 'Delete a mining device',
    description: 'The positions and heartbeats of the device stay.',
    tags,
    params: idParams,
    response: singleSchema(miningDeviceResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => {
      const version = parseIfMatch(context);
      return {
        data: toMiningDeviceResponse(
          await deleteMiningDevice(deps, getCaller(context), params.id, version),
          deps.thresholds,
        ),
      };
    },
  }),
  platformRoute({
    method: 'post',
    path: '/mining-device/clear-database',
    operationId: 'clearMiningData',
    summary: 'Delete ingested positions and heartbeats',
    description: 'The devices stay.',
    tags,
    access: { permission: 'administration' },
    body: clearDatabaseBody,
    response: singleSchema(clearedResponseSchema),
    handle: async ({ body, context }) => ({ data: await clearDatabase(deps, getCaller(context), body) }),
  }),
];
