import type { components } from '@fleet/api-client';
import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../format/preferences-context.ts';
import { useSession } from '../session/session-context.ts';
import { Failure, Loading } from '../ui/states.tsx';

type EventRecord = components['schemas']['Notification'];

interface PlaceEventsProps {
  /** Types of events, separated by commas. */
  readonly types: string;
  /** Attribute of an event with the id of its place. */
  readonly attribute: 'geofence_id' | 'route_id';
  readonly id: number;
}

const eventNames = ['enter', 'exit', 'dwell', 'deviation', 'return', 'waypoint_arrival', 'completed'] as const;
/** Newest events in which those of the place are searched. */
const searched = 200;
const maxRows = 20;

/** Shows the newest events of a geofence or a route. New ones appear without a reload. */
export function PlaceEvents({ types, attribute, id }: PlaceEventsProps) {
  const { t } = useTranslation('places');
  const { api } = useSession();
  const format = useFormat();
  const events = useQuery({
    queryKey: ['listNotifications', 'place', types],
    queryFn: async (): Promise<readonly EventRecord[]> => {
      const query = { type: types, limit: searched };
      return (await api.GET('/api/notifications', { params: { query } })).data?.data ?? [];
    },
  });
  if (events.isPending) return <Loading />;
  if (events.isError) return <Failure error={events.error} onRetry={() => void events.refetch()} />;
  const nameOf = (attributes: EventRecord['attributes']): string => {
    const name = eventNames.find((each) => each === attributes['event']);
    return name === undefined ? '' : t(`event.${name}`);
  };
  const own = events.data.filter(({ attributes }) => attributes[attribute] === id).slice(0, maxRows);
  if (own.length === 0) return <Text c="dimmed">{t('noEvents')}</Text>;
  return (
    <ul className="row-list" aria-label={t('events')}>
      {own.map((event) => (
        <li key={event.id}>
          <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(event.vehicle_id) }}>
            {event.vehicle_no}
          </Link>
          <span>{nameOf(event.attributes)}</span>
          <small>{format.dateTime(event.timestamp)}</small>
        </li>
      ))}
    </ul>
  );
}
