import {
  AppError,
  pageResponse,
  pageSchema,
  paginationQuery,
  parseIfMatch,
  parsePagination,
  parseSort,
  Reply,
  singleSchema,
  sortParameter,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams } from '../../platform/schemas.ts';
import { toApiKeyResponse } from './responses.ts';
import { createKeyBody, keySchema, newKeySchema } from './schema.ts';
import { createKeyAsCaller, listKeys, revokeKeyById } from './use-cases.ts';

// Requires only the bearer token, so that the first key can be created.
const access = { credentials: 'bearer', permission: 'administration' } as const;
const tags = ['API keys'];

export const apiKeyRoutes = (deps: Pick<Deps, 'records' | 'database' | 'bus' | 'log'>): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/api-keys',
    operationId: 'createApiKey',
    summary: 'Create an API key',
    description: 'Only this response contains the key.',
    tags,
    access,
    isIdempotent: true,
    body: createKeyBody,
    response: singleSchema(newKeySchema),
    extraSuccesses: { 201: 'Created. This is the only response that contains `key`.' },
    errors: { 409: 'The account already has 20 keys.' },
    handle: async ({ body, context }) => {
      const { key, record } = await createKeyAsCaller(deps, getCaller(context), body);
      return new Reply(
        201,
        { data: { ...toApiKeyResponse(record), key } },
        { Location: `/api/api-keys/${record._id}`, 'Cache-Control': 'no-store' },
      );
    },
  }),
  platformRoute({
    method: 'get',
    path: '/api-keys',
    operationId: 'listApiKeys',
    summary: "List the account's API keys",
    description: 'Returns the keys that are not revoked.',
    tags,
    access,
    query: Type.Object({ ...paginationQuery, sort: sortParameter(['id', 'name']) }),
    response: pageSchema(keySchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listKeys(deps.records, getCaller(context), {
        sorting: parseSort(query.sort),
        paging,
      });
      return pageResponse({ items: items.map(toApiKeyResponse), total }, paging);
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/api-keys/:id',
    operationId: 'revokeApiKey',
    summary: 'Revoke an API key',
    description: 'All services reject the key within five seconds.',
    tags,
    access,
    params: idParams,
    response: singleSchema(keySchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => {
      const key = await revokeKeyById(deps, getCaller(context), params.id, parseIfMatch(context));
      if (key === null) throw new AppError('not_found', 'The API key does not exist.');
      return { data: toApiKeyResponse(key) };
    },
  }),
];
