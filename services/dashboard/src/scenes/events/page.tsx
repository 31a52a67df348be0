import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSingleKeys } from '../../common/commands/use-single-keys.ts';
import { Pages } from '../../common/ui/pages.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { foldEvents, isOpen } from './model.ts';
import { BulkBar } from './parts/bulk-bar.tsx';
import { EmptyInbox } from './parts/empty-inbox.tsx';
import { EventDetails } from './parts/event-details.tsx';
import { EventList } from './parts/event-list.tsx';
import { FilterBar } from './parts/filter-bar.tsx';
import { StatusTabs } from './parts/status-tabs.tsx';
import { pageSize, useEvents, useLiveInbox, useSummary } from './queries.ts';
import type { EventsSearch } from './search.ts';
import './events.css';

const route = getRouteApi('/app/events/{-$eventId}');

/** Shows the event inbox: a list with filters in the address, and the selected event. */
export function EventsPage() {
  const { t } = useTranslation('events');
  const search = route.useSearch();
  const { eventId } = route.useParams();
  const navigate = route.useNavigate();
  const events = useEvents(search);
  const rows = useMemo(() => foldEvents(events.data?.data ?? []), [events.data]);
  const { newCount, showNew } = useLiveInbox(search, events.data?.data.length === 0);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const selectedId = eventId === undefined ? undefined : Number(eventId);
  const selected = rows.find((row) => row.events.some(({ id }) => id === selectedId));
  const { data: summary } = useSummary(search);
  const hasOpen = summary === undefined || Object.values(summary?.open ?? {}).some((count) => count > 0);
  const isHandled =
    search.status === undefined && rows.length > 0 && !(hasOpen && events.data?.data.some(isOpen) === true);
  // A list of open events of which none is open any more is read again. Types that the user has muted have no events.
  useEffect(() => {
    if (isHandled) showNew();
  }, [isHandled]);
  const change = (next: EventsSearch): void => {
    setChosen(new Set());
    void navigate({ search: next, replace: true });
  };
  const open = (id: number | undefined): void =>
    void navigate({ params: { eventId: id === undefined ? undefined : String(id) }, search, replace: true });
  const step = (direction: 1 | -1): void => {
    const at = selected === undefined ? -1 : rows.indexOf(selected);
    const next = rows[Math.min(Math.max(at + direction, 0), rows.length - 1)];
    if (next !== undefined) open(next.event.id);
  };
  const toggle = (ids: readonly number[], isChosen: boolean): void =>
    setChosen((before) => {
      const next = new Set(before);
      for (const id of ids) {
        if (isChosen) next.add(id);
        else next.delete(id);
      }
      return next;
    });
  useSingleKeys({
    j: () => step(1),
    k: () => step(-1),
    Escape: () => open(undefined),
    x: () => {
      const ids = selected?.events.map(({ id }) => id) ?? [];
      toggle(ids, !ids.every((id) => chosen.has(id)));
    },
  });
  return (
    <div className="events-page" data-selected={selectedId !== undefined}>
      <section className="events-list" aria-label={t('title')}>
        <h1>{t('title')}</h1>
        <StatusTabs search={search} newCount={newCount} onChange={change} onShowNew={showNew} />
        <FilterBar search={search} onChange={change} />
        {events.isPending ? <Loading /> : null}
        {events.isError ? <Failure error={events.error} onRetry={() => void events.refetch()} /> : null}
        {events.isSuccess && rows.length === 0 ? <EmptyInbox search={search} onChange={change} /> : null}
        <EventList rows={rows} selectedId={selected?.event.id} chosen={chosen} onToggle={toggle} onOpen={open} />
        <Pages
          page={search.page ?? 1}
          total={events.data?.meta.pagination.total ?? 0}
          pageSize={pageSize}
          onChange={(page) => change({ ...search, page })}
        />
        <BulkBar ids={[...chosen]} onDone={() => setChosen(new Set())} />
      </section>
      {selectedId === undefined ? (
        <div className="events-details">
          <Empty title={t('choose')} />
        </div>
      ) : (
        <EventDetails key={selectedId} id={selectedId} row={selected} onClose={() => open(undefined)} />
      )}
    </div>
  );
}
