import {
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  Reply,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { recordId } from '../../platform/schemas.ts';
import { noSubscription } from '../billing/schema.ts';
import { openLink } from './opening.ts';
import { toLinkResponse } from './responses.ts';
import { slugPattern } from './rules.ts';
import { createBody, linkResponseSchema, listQuery, sharedViewResponseSchema } from './schema.ts';
import { createLink, listLinks, revokeLink } from './use-cases.ts';

const base = '/share-links';
const tags = ['Share links'];
const access = { permission: 'sharing' } as const;

export const shareLinkRoutes = (deps: Deps): PlatformRoute[] => [...ownRoutes(deps), ...openRoutes(deps)];

const ownRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: base,
    operationId: 'listShareLinks',
    summary: "The caller's share links: live ones, or with active=false those that have ended",
    tags,
    query: listQuery,
    response: pageSchema(linkResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const filter = { vehicleId: query.vehicle_id, active: query.active };
      const { items, total } = await listLinks(deps, getCaller(context), filter, {
        sorting: toSorting(query.sort, { created_at: 'createdAt', expires_at: 'expiresAt' }),
        paging,
      });
      return pageResponse(
        { items: items.map((link) => toLinkResponse(link, deps.config.PUBLIC_BASE_URL)), total },
        paging,
      );
    },
  }),
  platformRoute({
    method: 'post',
    path: base,
    operationId: 'createShareLink',
    summary: 'Show a vehicle for a while to everybody who has the link',
    tags,
    access,
    isIdempotent: true,
    body: createBody,
    response: singleSchema(linkResponseSchema),
    extraSuccesses: { 201: 'The link has been made.' },
    errors: {
      402: noSubscription,
      404: 'There is no such vehicle, or it is not visible to the caller.',
      409: 'The vehicle has fifty live links already.',
    },
    handle: async ({ body, context }) => {
      const link = toLinkResponse(await createLink(deps, getCaller(context), body), deps.config.PUBLIC_BASE_URL);
      return new Reply(201, { data: link }, { Location: `/api${base}/${link.slug}` });
    },
  }),
  platformRoute({
    method: 'delete',
    path: `${base}/:slug`,
    operationId: 'deleteShareLink',
    summary: 'Revoke a share link, named by its id',
    description: "The caller's own; owner and admin may revoke any of the account, whose ids the audit log has.",
    tags,
    access,
    params: Type.Object({ slug: Type.Integer({ ...recordId, description: 'Id of the link.', examples: [7] }) }),
    response: singleSchema(linkResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => {
      const link = await revokeLink(deps, getCaller(context), params.slug, parseIfMatch(context));
      return { data: toLinkResponse(link, deps.config.PUBLIC_BASE_URL) };
    },
  }),
];

const params = Type.Object({ slug: Type.String({ pattern: slugPattern }) });
const description =
  'A link with a password asks for it in the header X-Share-Password; signs beyond ASCII, and blanks at its ends, are written as percent-encoded UTF-8.';
const errors = {
  404: 'There is no such link.',
  410: 'The link has expired, has been revoked, or was opened as often as it may be.',
} as const;

const openRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: `${base}/:slug`,
    operationId: 'openShareLink',
    summary: 'What a share link shows, to users of any account',
    description,
    tags,
    access: { permission: 'self' },
    params,
    response: singleSchema(sharedViewResponseSchema),
    errors,
    handle: async ({ params: { slug }, context }) => ({ data: await openLink(deps, slug, context) }),
  }),
  platformRoute({
    method: 'get',
    path: `/public${base}/:slug`,
    operationId: 'openPublicShareLink',
    summary: 'What a share link shows, to everybody who has it',
    description,
    tags,
    access: { credentials: 'none' },
    bucket: 'shareLink',
    params,
    response: singleSchema(sharedViewResponseSchema),
    errors: { ...errors, 401: 'The link has a password, and X-Share-Password is missing or another one.' },
    handle: async ({ params: { slug }, context }) => {
      // Also with errors: neither pages of search engines nor caches nor other sites learn the link.
      context.response.set({
        'Cache-Control': 'no-store',
        'Referrer-Policy': 'no-referrer',
        'X-Robots-Tag': 'noindex',
      });
      return { data: await openLink(deps, slug, context) };
    },
  }),
];
