import {
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  Reply,
  type Route,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { parseJsonOrForm } from '../../platform/forms.ts';
import { idParams, toRecordResponse } from '../../platform/schemas.ts';
import { commandLevelOf } from './command-level.ts';
import { pushHeartbeats, pushPositions } from './ingest.ts';
import { toVendorError } from './rules.ts';
import {
  createPartnerBody,
  listPartnersQuery,
  type Partner,
  partnerResponseSchema,
  partnerWithToken,
  pushBody,
  pushError,
  pushResponse,
  updatePartnerBody,
} from './schema.ts';
import { createPartner, deletePartner, listPartners, readPartner, updatePartner } from './use-cases.ts';

const tags = ['Partners'];
const administration = { permission: 'administration' } as const;

const toPartnerResponse = (partner: Partner) => ({
  ...toRecordResponse(partner),
  name: partner.name,
  imei_prefixes: [...partner.imeiPrefixes],
  ip_allowlist: [...partner.ipAllowlist],
  token_hint: partner.hint,
  command_url: partner.commandUrl ?? null,
  command_level: commandLevelOf(partner),
  has_command_token: typeof partner.sealedCommandToken === 'string',
});

const unauthorized =
  'The credentials are invalid. `two_factor_required`: changing `command_level` needs a valid `code`.';

const managePartners = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/partners',
    operationId: 'listPartners',
    summary: 'List partners',
    description: 'Partners are companies whose servers push data of devices.',
    tags,
    access: administration,
    query: listPartnersQuery,
    response: pageSchema(partnerResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listPartners(deps, getCaller(context), {
        sorting: toSorting(query.sort, { created_at: 'createdAt' }),
        paging,
      });
      return pageResponse({ items: items.map(toPartnerResponse), total }, paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/partners',
    operationId: 'createPartner',
    summary: 'Create a partner',
    description: 'The token is returned only once.',
    tags,
    access: administration,
    isIdempotent: true,
    body: createPartnerBody,
    response: singleSchema(partnerWithToken),
    extraSuccesses: { 201: 'Created; `Location` is the path of the partner.' },
    errors: {
      401: unauthorized,
      409: 'Partner limit reached.',
    },
    handle: async ({ body, context }) => {
      const { partner, token } = await createPartner(deps, getCaller(context), body);
      return new Reply(
        201,
        { data: { ...toPartnerResponse(partner), token } },
        { Location: `/api/partners/${partner._id}` },
      );
    },
  }),
  platformRoute({
    method: 'get',
    path: '/partners/:id',
    operationId: 'getPartner',
    summary: 'Get a partner',
    description: 'The token is not returned.',
    tags,
    access: administration,
    params: idParams,
    response: singleSchema(partnerResponseSchema),
    handle: async ({ params, context }) => ({
      data: toPartnerResponse(await readPartner(deps, getCaller(context), params.id)),
    }),
  }),
  platformRoute({
    method: 'put',
    path: '/partners/:id',
    operationId: 'updatePartner',
    summary: 'Update a partner',
    description:
      "The partner's own token does not change. Changing `command_url` clears `command_token` unless a new one is given.",
    tags,
    access: administration,
    params: idParams,
    body: updatePartnerBody,
    response: singleSchema(partnerResponseSchema),
    errors: { ...versionMismatchErrors, 401: unauthorized },
    handle: async ({ params, body, context }) => ({
      data: toPartnerResponse(await updatePartner(deps, getCaller(context), params.id, body, parseIfMatch(context))),
    }),
  }),
  platformRoute({
    method: 'delete',
    path: '/partners/:id',
    operationId: 'deletePartner',
    summary: 'Delete a partner',
    description: 'The token of the partner becomes invalid.',
    tags,
    access: administration,
    params: idParams,
    response: singleSchema(partnerResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => ({
      data: toPartnerResponse(await deletePartner(deps, getCaller(context), params.id, parseIfMatch(context))),
    }),
  }),
];

const failure = (description: string) => ({ description, schema: pushError });

const ingest = {
  method: 'post',
  tags,
  description:
    'Accepts JSON or a form. Requires the token of a partner in the body, or both platform headers with a key of the scope `ingest`. Items are accepted or rejected individually.',
  access: { credentials: 'either', permission: 'fleet', scope: 'ingest' },
  bucket: 'partner',
  body: pushBody,
  bodyTypes: ['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
  bodyLimitBytes: 2 * 1024 * 1024,
  readBody: async (bytes, context) => (await parseJsonOrForm(bytes, context)) ?? {},
  renderError: toVendorError,
  response: pushResponse,
  errors: {
    400: failure('The push is invalid: code 1001.'),
    401: failure('The token or the headers are missing or invalid: code 1004.'),
    403: failure('The key or the role does not allow this: code 1004.'),
    413: failure('The body is larger than 2 MiB: code 1001.'),
    415: failure('The body is compressed: code 1001.'),
    429: failure('Too many requests: code 1006.'),
    500: failure('Unexpected server error.'),
    503: failure('The data cannot be stored at the moment. Send it again.'),
  },
} as const satisfies Partial<Route> & { access: unknown };

export const partnerRoutes = (deps: Deps): PlatformRoute[] => [
  ...managePartners(deps),
  platformRoute({
    ...ingest,
    path: '/devices/partner/pushhb',
    operationId: 'pushPartnerHeartbeats',
    summary: 'Push heartbeats of partner devices',
    handle: ({ body, context }) => pushHeartbeats(deps, body, context),
  }),
  platformRoute({
    ...ingest,
    path: '/devices/partner/pushgps',
    operationId: 'pushPartnerPositions',
    summary: 'Push positions of partner devices',
    handle: ({ body, context }) => pushPositions(deps, body, context),
  }),
];
