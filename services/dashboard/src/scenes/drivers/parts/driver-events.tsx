import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../../common/fleet/queries.ts';
import type { Driver } from '../../../common/fleet/vehicle.ts';
import { Age } from '../../../common/ui/age.tsx';
import { SeverityMark, toSeverity } from '../../../common/ui/marks.tsx';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { useDriverEvents } from '../queries.ts';

/** Shows the newest events of a driver. */
export function DriverEvents({ driver }: { driver: Driver }) {
  const { t } = useTranslation('drivers');
  const events = useDriverEvents(driver.id);
  const numbers = new Map(useVehicles().data?.map(({ id, vehicle_no: number }) => [id, number]));
  return (
    <section className="card" aria-label={t('events.title')}>
      <h2>{t('events.title')}</h2>
      {events.isPending ? <Loading /> : null}
      {events.isError ? <Failure error={events.error} onRetry={() => void events.refetch()} /> : null}
      {events.data?.length === 0 ? <p>{t('events.empty')}</p> : null}
      <ul className="row-list" aria-label={t('events.title')}>
        {events.data?.map((event) => {
          const severity = toSeverity(event.severity);
          return (
            <li key={event.id}>
              <SeverityMark severity={severity} label={t(`common:severity.${severity}`)} />
              <span>{numbers.get(event.vehicle_id) ?? ''}</span>
              <Link to="/events/{-$eventId}" params={{ eventId: String(event.id) }}>
                {event.title}
              </Link>
              <small>
                <Age timeMs={event.timestamp} />
              </small>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
