import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { getDateOf, getDaySpan, isDate } from '../../common/timeline/time-scale.ts';
import { Failure, Loading } from '../../common/ui/states.tsx';
import { DayReplay } from './parts/day-replay.tsx';
import { useVehicle } from './queries.ts';
import './day.css';

const route = getRouteApi('/app/vehicles/$vehicleId/day/$date');

/** Shows the replay of one day of a vehicle. */
export function DayPage() {
  const { vehicleId } = route.useParams();
  const vehicle = useVehicle(Number(vehicleId));
  if (vehicle.isPending) return <Loading />;
  if (vehicle.isError) return <Failure error={vehicle.error} onRetry={() => void vehicle.refetch()} />;
  return <DayOfVehicle vehicle={vehicle.data} />;
}

/** Returns the date that the address means: that of `t` in the vehicle's zone, if the two differ. */
function chooseDate(date: string, t: number | undefined, timeZone: string): string {
  if (t !== undefined) return getDateOf(t * 1_000, timeZone);
  return isDate(date) ? date : getDateOf(Date.now(), timeZone);
}

function DayOfVehicle({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('day');
  const params = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const date = chooseDate(params.date, search.t, vehicle.timezone);
  const day = useMemo(() => getDaySpan(date, vehicle.timezone), [date, vehicle.timezone]);
  useEffect(() => {
    if (date !== params.date) void navigate({ params: (before) => ({ ...before, date }), search, replace: true });
  }, [date, params.date, navigate, search]);
  const open = (next: string): void =>
    void navigate({
      params: (before) => ({ ...before, date: next }),
      search: ({ ch }) => (ch === undefined ? {} : { ch }),
    });
  return (
    <div className="day-page">
      <h1 className="visually-hidden">{t('title', { vehicle: vehicle.vehicle_no, date })}</h1>
      <DayReplay
        key={date}
        vehicle={vehicle}
        date={date}
        day={day}
        initialMs={search.t === undefined ? null : search.t * 1_000}
        channelId={search.ch}
        onChannel={(ch) => void navigate({ search: (before) => ({ ...before, ch }), replace: true })}
        onDate={open}
        onTime={(timeMs) =>
          void navigate({ search: (before) => ({ ...before, t: Math.floor(timeMs / 1_000) }), replace: true })
        }
      />
    </div>
  );
}
