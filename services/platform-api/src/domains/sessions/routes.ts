import {
  AppError,
  pageResponse,
  pageSchema,
  paginationQuery,
  parseIfMatch,
  parsePagination,
  singleSchema,
  sortParameter,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { type Caller, getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { idParams, nullable, recordProperties, time, toRecordResponse } from '../../platform/schemas.ts';
import { audit } from '../audit/use-cases.ts';
import type { Session } from './schema.ts';
import { listSessions, revokeSession } from './use-cases.ts';

const sessionSchema = Type.Object(
  {
    ...recordProperties,
    ip: Type.String(),
    user_agent: nullable(Type.String()),
    last_used_at: time,
    expires_at: time,
    current: Type.Boolean({ description: 'True for the session of the token used for this request.' }),
  },
  { title: 'Session' },
);

const response = (session: Session, caller: Caller): Static<typeof sessionSchema> => ({
  ...toRecordResponse(session),
  ip: session.ip,
  user_agent: session.userAgent,
  last_used_at: session.lastUsedAt.toISOString(),
  expires_at: session.expiresAt.toISOString(),
  current: session._id === caller.sessionId,
});

const access = { credentials: 'bearer', permission: 'self' } as const;
const tags = ['Log-in'];

export const sessionRoutes = ({ records, bus, log }: Pick<Deps, 'records' | 'bus' | 'log'>): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/auth/sessions',
    operationId: 'listSessions',
    summary: "List the caller's open sessions",
    tags,
    access,
    query: Type.Object({ ...paginationQuery, sort: sortParameter(['id', 'created_at', 'last_used_at']) }),
    response: pageSchema(sessionSchema),
    handle: async ({ query, context }) => {
      const [caller, paging] = [getCaller(context), parsePagination(query)];
      const sorting = toSorting(query.sort, { created_at: 'createdAt', last_used_at: 'lastUsedAt' });
      const { items, total } = await listSessions(records, caller, { sorting, paging });
      return pageResponse({ items: items.map((session) => response(session, caller)), total }, paging);
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/auth/sessions/:id',
    operationId: 'revokeSession',
    summary: 'Revoke a session',
    description: 'The tokens of the session become invalid within five seconds.',
    tags,
    access,
    params: idParams,
    response: singleSchema(sessionSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => {
      const caller = getCaller(context);
      const session = await revokeSession({ records, bus }, caller, params.id, new Date(), parseIfMatch(context));
      if (session === null) throw new AppError('not_found', 'There is no such session.');
      await audit({ records, log }, caller, 'sessions.revoke', { type: 'sessions', id: session._id });
      return { data: response(session, caller) };
    },
  }),
];
