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
import { openLink } from './open-link.ts';
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
    summary: "List the caller's share links",
    description: 'Lists live links or, with `active=false`, those that have ended.',
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
    summary: 'Create a share link',
    description: 'Shows a vehicle to everyone who has the link, for a limited time. A vehicle can have 50 live links.',
    tags,
    access,
    isIdempotent: true,
    body: createBody,
    response: singleSchema(linkResponseSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the link.' },
    errors: {
      402: noSubscription,
      404: 'The vehicle does not exist or is not visible to the caller.',
      409: 'Share link limit of the vehicle reached.',
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
    summary: 'Revoke a share link',
    description:
      'Revokes a link of the caller by its id. Owners and admins can revoke any link of the account; the audit log has the ids.',
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
  'A link with a password requires the header X-Share-Password. Characters beyond ASCII and leading or trailing spaces must be percent-encoded UTF-8.';
const errors = {
  404: 'The link does not exist.',
  410: 'The link has expired or was revoked, or its view limit has been reached.',
} as const;

const openRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: `${base}/:slug`,
    operationId: 'openShareLink',
    summary: 'Open a share link as user',
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
    summary: 'Open a public share link',
    description,
    tags,
    access: { credentials: 'none' },
    bucket: 'shareLink',
    params,
    response: singleSchema(sharedViewResponseSchema),
    errors: { ...errors, 401: 'The link requires a password, and X-Share-Password is missing or wrong.' },
    handle: async ({ params: { slug }, context }) => {
      // Also set on errors, so that search engines, caches and other sites do not learn the link.
      context.response.set({
        'Cache-Control': 'no-store',
        'Referrer-Policy': 'no-referrer',
        'X-Robots-Tag': 'noindex',
      });
      return { data: await openLink(deps, slug, context) };
    },
  }),
];
