import { SegmentedControl } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Age } from '../../common/ui/age.tsx';
import { type Severity, SeverityMark, toSeverity } from '../../common/ui/marks.tsx';
import { Pages } from '../../common/ui/pages.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { EventDetails } from './parts/event-details.tsx';
import { type EventRecord, pageSize, useEvents } from './queries.ts';
import type { EventsSearch } from './search.ts';
import './events.css';

const route = getRouteApi('/app/events');
const severities: readonly Severity[] = ['critical', 'warning', 'info'];

/** The event inbox: a list with filters, and the selected event. */
export function EventsPage() {
  const { t } = useTranslation('events');
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const events = useEvents(search);
  const change = (next: Partial<Record<keyof EventsSearch, unknown>>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }) as EventsSearch, replace: true });
  if (events.isPending) return <Loading />;
  if (events.isError) return <Failure error={events.error} onRetry={() => void events.refetch()} />;
  const { data: rows, meta } = events.data;
  const selected = rows.find(({ id }) => id === search.event);
  return (
    <div className="events-page">
      <section className="events-list" aria-label={t('title')}>
        <h1>{t('title')}</h1>
        <SegmentedControl
          size="xs"
          aria-label={t('severity')}
          value={search.severity ?? 'all'}
          data={[
            { value: 'all', label: t('all') },
            ...severities.map((value) => ({ value, label: t(`common:severity.${value}`) })),
          ]}
          onChange={(value) => change({ severity: value === 'all' ? undefined : value, page: undefined })}
        />
        {rows.length === 0 ? <Empty title={t('empty')} /> : null}
        <ul>
          {rows.map((event) => (
            <li key={event.id}>
              <button
                type="button"
                aria-pressed={event.id === search.event}
                onClick={() => change({ event: event.id })}
              >
                <EventRow event={event} />
              </button>
            </li>
          ))}
        </ul>
        <Pages
          page={search.page ?? 1}
          total={meta.pagination.total}
          pageSize={pageSize}
          onChange={(page) => change({ page })}
        />
      </section>
      {selected === undefined ? (
        <div className="events-details">
          <Empty title={t('choose')} />
        </div>
      ) : (
        <EventDetails key={selected.id} event={selected} />
      )}
    </div>
  );
}

function EventRow({ event }: { event: EventRecord }) {
  const { t } = useTranslation();
  const severity = toSeverity(event.severity);
  return (
    <>
      <SeverityMark severity={severity} label={t(`severity.${severity}`)} />
      <span className="events-row">
        <strong>{event.title}</strong>
        <small>{event.vehicle_no}</small>
      </span>
      <small>
        <Age timeMs={event.timestamp} />
        {event.acknowledged_at === null ? null : <span> ✓</span>}
      </small>
    </>
  );
}
