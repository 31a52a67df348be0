import { Button, Group, Stack, Textarea } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { MapView } from '../../../common/map/map-view.tsx';
import { useCan } from '../../../common/session/session-context.ts';
import { SeverityMark, toSeverity } from '../../../common/ui/marks.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { type EventRecord, useAcknowledge } from '../queries.ts';

/** Shows one event: what happened, where, its pictures, and the acknowledgement. */
export function EventDetails({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  const can = useCan();
  const severity = toSeverity(event.severity);
  return (
    <article className="events-details">
      <Stack gap="md">
        <Group gap="sm">
          <SeverityMark severity={severity} label={t(`common:severity.${severity}`)} />
          <h2>{event.title}</h2>
        </Group>
        <span>{event.description}</span>
        <EventFacts event={event} />
        <EventPlace event={event} />
        <EventMedia event={event} />
        {can('fleet') ? <Acknowledge event={event} /> : null}
        <EventLinks event={event} />
      </Stack>
    </article>
  );
}

function EventFacts({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  const format = useFormat();
  return (
    <dl>
      <dt>{t('vehicle')}</dt>
      <dd>
        <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(event.vehicle_id) }}>
          {event.vehicle_no}
        </Link>
      </dd>
      <dt>{t('time')}</dt>
      <dd>{format.exact(event.timestamp)}</dd>
      {event.address === null ? null : (
        <>
          <dt>{t('address')}</dt>
          <dd>{event.address}</dd>
        </>
      )}
    </dl>
  );
}

/** The position on a map, unless it is unknown. */
function EventPlace({ event }: { event: EventRecord }) {
  const { latitude, longitude } = event.location;
  if (latitude === 0 && longitude === 0) return null;
  return (
    <div className="events-map">
      <MapView
        vehicles={[{ id: event.id, label: event.vehicle_no, latitude, longitude, course: 0, state: 'stopped' }]}
        selectedId={event.id}
      />
    </div>
  );
}

function EventMedia({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  if (event.media.length === 0) return null;
  return (
    <Group gap="sm">
      {event.media.map(({ id, kind, url }) => (
        <a key={id} href={url} target="_blank" rel="noreferrer">
          {kind === 'image' ? <img src={url} alt={t('picture', { title: event.title })} /> : t('file', { kind })}
        </a>
      ))}
    </Group>
  );
}

/** Links to the map, the day and the live video of the vehicle. */
function EventLinks({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  const can = useCan();
  return (
    <Group gap="sm">
      <Button size="xs" variant="default" component={Link} to={`/map?vehicle=${event.vehicle_id}`}>
        {t('onMap')}
      </Button>
      <Button
        size="xs"
        variant="default"
        component={Link}
        to={`/vehicles/${event.vehicle_id}/day/event?t=${Math.floor(event.timestamp / 1_000)}`}
      >
        {t('day')}
      </Button>
      {can('video') ? (
        <Button size="xs" variant="default" component={Link} to={`/video?tiles=${event.vehicle_id}.1`}>
          {t('live')}
        </Button>
      ) : null}
    </Group>
  );
}

function Acknowledge({ event }: { event: EventRecord }) {
  const { t } = useTranslation('events');
  const format = useFormat();
  const acknowledge = useAcknowledge();
  const [note, setNote] = useState('');
  if (event.acknowledged_at !== null)
    return <p>{t('acknowledgedAt', { time: format.dateTime(Date.parse(event.acknowledged_at)) })}</p>;
  return (
    <form
      onSubmit={(submit) => {
        submit.preventDefault();
        acknowledge.mutate({ id: event.id, note });
      }}
    >
      <Stack gap="sm">
        {acknowledge.isError ? <Failure error={acknowledge.error} /> : null}
        <Textarea label={t('note')} value={note} maxLength={1000} onChange={(change) => setNote(change.target.value)} />
        <Button type="submit" size="xs" loading={acknowledge.isPending}>
          {t('acknowledge')}
        </Button>
      </Stack>
    </form>
  );
}
