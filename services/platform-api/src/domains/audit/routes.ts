import {
  pageResponse,
  pageSchema,
  paginationQuery,
  parsePagination,
  parseSort,
  sortParameter,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { formatTime, recordId } from '../../platform/schemas.ts';
import { parseTimestamp, timeParameter } from '../../platform/timestamps.ts';
import { createUserNaming } from '../users/use-cases.ts';
import { type AuditEntry, auditEntryResponse } from './schema.ts';
import { auditEntryCollection } from './store.ts';

const toAuditEntryResponse = (entry: AuditEntry, userName: string | null) => ({
  id: entry._id,
  user_id: entry.userId,
  user_name: userName,
  api_key_id: entry.keyId,
  action: entry.action,
  target: entry.target,
  detail: entry.detail,
  ip: entry.ip,
  created_at: formatTime(entry.createdAt),
});

export const auditRoutes = ({ records }: Pick<Deps, 'records'>): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/audit-log',
    operationId: 'listAuditLog',
    summary: 'List audit log entries',
    description: 'Returns who did what in the account. Entries are stored for a year.',
    tags: ['Account'],
    access: { permission: 'administration' },
    query: Type.Object({
      ...paginationQuery,
      sort: sortParameter(['id', 'created_at']),
      action: Type.Optional(Type.String({ maxLength: 100, description: 'Action to filter by, such as `auth.login`.' })),
      user_id: Type.Optional(recordId),
      from: Type.Optional(timeParameter),
      to: Type.Optional(timeParameter),
    }),
    response: pageSchema(auditEntryResponse),
    handle: async ({ query, context }) => {
      const caller = getCaller(context);
      const paging = parsePagination(query);
      const { field, direction } = parseSort(query.sort);
      const [from, to] = [parseTimestamp(query.from, 'from'), parseTimestamp(query.to, 'to')];
      const between = { ...(from === undefined ? {} : { $gte: from }), ...(to === undefined ? {} : { $lt: to }) };
      const { items, total } = await auditEntryCollection(records).list(caller, {
        where: {
          ...(query.action === undefined ? {} : { action: query.action }),
          ...(query.user_id === undefined ? {} : { userId: query.user_id }),
          ...(Object.keys(between).length === 0 ? {} : { createdAt: between }),
        },
        sorting: { field: field === 'created_at' ? 'createdAt' : field, direction },
        paging,
      });
      const nameOf = await createUserNaming(records, caller, items);
      return pageResponse({ items: items.map((entry) => toAuditEntryResponse(entry, nameOf(entry))), total }, paging);
    },
  }),
];
