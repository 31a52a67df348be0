import { keepPreviousData, type QueryClient, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { keepSignedUrls } from '../../common/data/keep-signed-urls.ts';
import type { EventRecord } from '../../common/events/event-record.ts';
import { usePreferences } from '../../common/format/preferences-context.ts';
import { useLiveEvents } from '../../common/live/live-context.ts';
import { useMe, useSession } from '../../common/session/session-context.ts';
import { getDaySpan } from '../../common/timeline/time-scale.ts';
import { isOpen, type LiveNotification, mayBelong } from './model.ts';
import type { EventsSearch } from './search.ts';

export const pageSize = 100;
/** Events of one request; the server accepts at most 200. */
const maxBulk = 200;
/** Lists of the inbox do not move by themselves, so their key is not one that live events make stale. */
const listKey = 'inbox';

interface EventPage {
  readonly data: readonly EventRecord[];
  readonly meta: { readonly pagination: { readonly total: number } };
}

function useTimeZone(): string {
  return usePreferences()?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns the filters of the address as those of the server. */
function toFilters({ severity, type, group, vehicle, from, to, q }: EventsSearch, timeZone: string) {
  return {
    ...(severity === undefined ? {} : { severity }),
    ...(type === undefined ? {} : { type }),
    ...(group === undefined ? {} : { group_id: group }),
    ...(vehicle === undefined ? {} : { vehicle_id: String(vehicle) }),
    ...(from === undefined ? {} : { from: String(getDaySpan(from, timeZone).fromMs) }),
    ...(to === undefined ? {} : { to: String(getDaySpan(to, timeZone).toMs) }),
    ...(q === undefined ? {} : { query: q }),
  };
}

export function useEvents(search: EventsSearch) {
  const { api } = useSession();
  const timeZone = useTimeZone();
  return useQuery({
    queryKey: [listKey, search, timeZone],
    structuralSharing: keepSignedUrls,
    queryFn: async (): Promise<EventPage> => {
      const { status = 'open', page = 1 } = search;
      const acknowledged = status === 'all' ? {} : { acknowledged: status === 'acknowledged' };
      const paging = { limit: pageSize, offset: (page - 1) * pageSize };
      const query = { ...toFilters(search, timeZone), ...acknowledged, ...paging };
      const { data } = await api.GET('/api/notifications', { params: { query } });
      if (data === undefined) throw new Error('The server returned no events.');
      return data;
    },
    placeholderData: keepPreviousData,
    // Events that arrived while another page was open.
    refetchOnMount: 'always',
  });
}

/** Returns the numbers of events that match the filters. */
export function useSummary(search: EventsSearch) {
  const { api } = useSession();
  const timeZone = useTimeZone();
  const filters = toFilters(search, timeZone);
  return useQuery({
    queryKey: ['summarizeNotifications', filters],
    queryFn: async () =>
      (await api.GET('/api/notifications/summary', { params: { query: filters } })).data?.data ?? null,
    placeholderData: keepPreviousData,
  });
}

/** The files of an event arrive within this time, and one may be stored shortly after it was announced. */
const filesArriveMs = 120_000;
const readAgainMs = 5_000;

const awaitsFiles = (event: EventRecord | undefined): boolean =>
  event !== undefined && Date.now() - Date.parse(event.created_at) < filesArriveMs;

/** Returns the query of one event, which begins with the row of the list. A new event is read again for its files. */
export function useEvent(id: number, known: EventRecord | undefined) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getNotification', id],
    structuralSharing: keepSignedUrls,
    queryFn: async () => {
      const { data } = await api.GET('/api/notifications/{id}', { params: { path: { id } } });
      if (data === undefined) throw new Error('The server returned no event.');
      return data.data;
    },
    refetchInterval: ({ state }) => (awaitsFiles(state.data) ? readAgainMs : false),
    ...(known === undefined ? {} : { placeholderData: known }),
  });
}

export function useNotificationTypes() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listNotificationTypes'],
    queryFn: async () => (await api.GET('/api/notifications/types')).data?.data ?? [],
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Changes events in all lists, where they are. */
function patchEvents(queries: QueryClient, change: (event: EventRecord) => EventRecord): void {
  queries.setQueriesData<EventPage>({ queryKey: [listKey] }, (page) =>
    page === undefined ? page : { ...page, data: page.data.map(change) },
  );
  queries.setQueriesData<EventRecord>({ queryKey: ['getNotification'] }, (event) =>
    event === undefined ? event : change(event),
  );
}

/** Reads everything that an acknowledgement changes, except lists: their rows stay where they are. */
function refreshAcknowledged(queries: QueryClient): void {
  for (const key of ['getNotification', 'summarizeNotifications', 'listNotifications'])
    void queries.invalidateQueries({ queryKey: [key] });
}

interface AcknowledgeRequest {
  readonly ids: readonly number[];
  readonly note: string;
}

/** Returns the mutation that acknowledges events. The rows change at once. */
export function useAcknowledge() {
  const { api } = useSession();
  const queries = useQueryClient();
  const me = useMe();
  return useMutation({
    mutationFn: async ({ ids, note }: AcknowledgeRequest) => {
      const failed: { readonly id: number; readonly code: string }[] = [];
      for (let at = 0; at < ids.length; at += maxBulk) {
        const body = { ids: ids.slice(at, at + maxBulk), ...(note === '' ? {} : { note }) };
        failed.push(...((await api.POST('/api/notifications/acknowledge', { body })).data?.data.failed ?? []));
      }
      return failed;
    },
    onMutate: ({ ids, note }) => {
      const wanted = new Set(ids);
      const now = new Date().toISOString();
      patchEvents(queries, (event) =>
        wanted.has(event.id) && isOpen(event)
          ? {
              ...event,
              acknowledged_at: now,
              acknowledged_by: me.id,
              acknowledged_by_name: me.name,
              attributes: note === '' ? event.attributes : { ...event.attributes, acknowledge_note: note },
            }
          : event,
      );
    },
    onSuccess: (failed) => (failed.length > 0 ? queries.invalidateQueries({ queryKey: [listKey] }) : undefined),
    onError: () => queries.invalidateQueries({ queryKey: [listKey] }),
    onSettled: () => refreshAcknowledged(queries),
  });
}

/** Reads an event again when one of its files or thumbnails has arrived. */
function refreshFiles(
  queries: QueryClient,
  { notification_id: id }: { readonly notification_id: number | null },
): void {
  if (id !== null) void queries.invalidateQueries({ queryKey: ['getNotification', id] });
}

/**
 * Keeps the lists current. Acknowledgements of other users change the rows. New events wait, so that nothing moves
 * under the pointer. Returns their number and a function that reads them.
 */
export function useLiveInbox(search: EventsSearch, isEmpty: boolean): { newCount: number; showNew: () => void } {
  const queries = useQueryClient();
  const [newIds, setNewIds] = useState<ReadonlySet<number>>(new Set());
  const showNew = (): void => {
    setNewIds(new Set());
    void queries.invalidateQueries({ queryKey: [listKey] });
  };
  useLiveEvents(({ type, data }) => {
    if (type === 'media') refreshFiles(queries, data as { readonly notification_id: number | null });
    if (type !== 'notification') return;
    const changed = data as LiveNotification;
    const { id, acknowledged_at, acknowledged_by, attributes } = changed;
    const isKnown = queries
      .getQueriesData<EventPage>({ queryKey: [listKey] })
      .some(([, page]) => page?.data.some((event) => event.id === id) === true);
    if (isKnown)
      patchEvents(queries, (event) =>
        event.id === id ? { ...event, acknowledged_at, acknowledged_by, attributes } : event,
      );
    else if (isOpen(changed) && mayBelong(changed, search)) {
      if (isEmpty) showNew();
      else setNewIds((before) => new Set([...before, id]));
    }
    void queries.invalidateQueries({ queryKey: ['getNotification', id] });
  });
  return { newCount: newIds.size, showNew };
}
