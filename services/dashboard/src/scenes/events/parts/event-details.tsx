import { CloseButton, Group, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { EventRecord } from '../../../common/events/event-record.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { SeverityMark, toSeverity } from '../../../common/ui/marks.tsx';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { type EventRow, isOpen } from '../model.ts';
import { useEvent } from '../queries.ts';
import { AcknowledgeForm } from './acknowledge-form.tsx';
import { EventActions } from './event-actions.tsx';
import { EventFacts } from './event-facts.tsx';
import { EventMap } from './event-map.tsx';
import { EventMedia } from './event-media.tsx';

interface EventDetailsProps {
  readonly id: number;
  /** The row of the list; undefined if the event is on no row. */
  readonly row: EventRow | undefined;
  readonly onClose: () => void;
}

/** Shows one event: what happened, where, its pictures and clips, and the acknowledgement. */
export function EventDetails({ id, row, onClose }: EventDetailsProps) {
  const { t } = useTranslation('events');
  const event = useEvent(
    id,
    row?.events.find((each) => each.id === id),
  );
  return (
    <article className="events-details" aria-label={t('details')}>
      <CloseButton className="events-close" aria-label={t('common:action.close')} onClick={onClose} />
      {event.isPending ? <Loading /> : null}
      {event.isError ? <Failure error={event.error} onRetry={() => void event.refetch()} /> : null}
      {event.data === undefined ? null : <Content event={event.data} row={row} />}
    </article>
  );
}

function Content({ event, row }: { event: EventRecord; row: EventRow | undefined }) {
  const { t } = useTranslation('events');
  const can = useCan();
  const severity = toSeverity(event.severity);
  const openIds = row?.events.filter(isOpen).map(({ id }) => id) ?? [];
  return (
    <Stack gap="md">
      <Group gap="sm">
        <SeverityMark severity={severity} label={t(`common:severity.${severity}`)} />
        <h2>{event.title}</h2>
      </Group>
      <span>{event.description}</span>
      <div className="events-columns">
        <EventFacts event={event} />
        <EventMap event={event} />
      </div>
      <EventMedia event={event} />
      <AcknowledgeForm event={event} ids={openIds.length === 0 ? [event.id] : openIds} isAllowed={can('commands')} />
      <EventActions event={event} />
    </Stack>
  );
}
