import { parseIfMatch, singleSchema, versionMismatchErrors } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import type { RecordFields } from '../../store/record-store.ts';
import { configBody, configResponseSchema, preferencesBody, preferencesResponseSchema } from './schema.ts';
import { readConfig, readPreferences, writeConfig, writePreferences } from './use-cases.ts';

const tags = ['Preferences'];

const response = <T extends object>({ record, values }: { record: RecordFields; values: T }) => ({
  data: { ...toRecordResponse(record), ...values },
});

export const preferencesRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/user-preferences/me',
    operationId: 'getUserPreferences',
    summary: "Get the caller's preferences",
    tags,
    response: singleSchema(preferencesResponseSchema),
    handle: async ({ context }) => response(await readPreferences(deps, getCaller(context))),
  }),
  platformRoute({
    method: 'put',
    path: '/user-preferences/me',
    operationId: 'updateUserPreferences',
    summary: "Update the caller's preferences",
    description: 'Absent fields do not change. Fields of nested objects are merged.',
    tags,
    access: { permission: 'self' },
    body: preferencesBody,
    response: singleSchema(preferencesResponseSchema),
    errors: {
      ...versionMismatchErrors,
      404: 'The group does not exist.',
      409: 'The record is being modified concurrently. Retry.',
    },
    handle: async ({ body, context }) =>
      response(await writePreferences(deps, getCaller(context), body, parseIfMatch(context))),
  }),
  platformRoute({
    method: 'get',
    path: '/global-config',
    operationId: 'getGlobalConfig',
    summary: "Get the account's configuration",
    description: 'Configures how the account sends messages, and how long it retains data.',
    tags,
    access: { permission: 'administration' },
    response: singleSchema(configResponseSchema),
    handle: async ({ context }) => response(await readConfig(deps, getCaller(context))),
  }),
  platformRoute({
    method: 'put',
    path: '/global-config',
    operationId: 'updateGlobalConfig',
    summary: "Update the account's configuration",
    description:
      'Configures how the account sends messages, and how long it retains data. Absent fields do not change. Fields of nested objects are merged.',
    tags,
    access: { permission: 'administration' },
    body: configBody,
    response: singleSchema(configResponseSchema),
    errors: { ...versionMismatchErrors, 409: 'The record is being modified concurrently. Retry.' },
    handle: async ({ body, context }) =>
      response(await writeConfig(deps, getCaller(context), body, parseIfMatch(context))),
  }),
];
