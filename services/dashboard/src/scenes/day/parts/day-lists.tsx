import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { useGeofences } from '../../../common/geofences/queries.ts';
import type { Segment } from '../../../common/timeline/lanes.ts';
import { formatClockTime } from '../../../common/timeline/time-scale.ts';
import { SeverityMark, toSeverity } from '../../../common/ui/marks.tsx';
import { type Fix, formatDuration, type Stop } from '../model.ts';
import type { EventRecord } from '../queries.ts';

interface DayListsProps {
  readonly timeZone: string;
  readonly fixes: readonly Fix[];
  readonly states: readonly Segment[];
  readonly stops: readonly Stop[];
  readonly events: readonly EventRecord[];
  readonly onSeek: (timeMs: number) => void;
}

const minuteMs = 60_000;

/** Returns the highest speed of each quarter of an hour, in place of the chart. */
function toSpeedRows(fixes: readonly Fix[]): readonly { readonly timeMs: number; readonly speed: number }[] {
  const rows = new Map<number, number>();
  for (const { timestamp, speed } of fixes) {
    const quarterMs = Math.floor(timestamp / (15 * minuteMs)) * 15 * minuteMs;
    rows.set(quarterMs, Math.max(rows.get(quarterMs) ?? 0, speed));
  }
  return [...rows].map(([timeMs, speed]) => ({ timeMs, speed }));
}

/** Shows the facts of the time bar as lists. A click on a time moves the playhead. */
export function DayLists({ timeZone, fixes, states, stops, events, onSeek }: DayListsProps) {
  const { t } = useTranslation('day');
  const format = useFormat();
  const geofenceNames = new Map(useGeofences().data?.map(({ id, name }) => [id, name]));
  const time = (timeMs: number) => (
    <button type="button" className="day-time" onClick={() => onSeek(timeMs)}>
      {formatClockTime(timeMs, timeZone)}
    </button>
  );
  return (
    <div className="day-lists">
      <section className="card" aria-label={t('events')}>
        <h2>{t('events')}</h2>
        {events.length === 0 ? <p>{t('noEvents')}</p> : null}
        <ul className="row-list">
          {events.map(({ id, severity, title, timestamp }) => (
            <li key={id}>
              <SeverityMark severity={toSeverity(severity)} label={t(`common:severity.${toSeverity(severity)}`)} />
              {time(timestamp)}
              <Link to="/events/{-$eventId}" params={{ eventId: String(id) }}>
                {title}
              </Link>
            </li>
          ))}
        </ul>
      </section>
      <section className="card" aria-label={t('stops')}>
        <h2>{t('stops')}</h2>
        {stops.length === 0 ? <p>{t('noStops')}</p> : null}
        <ul className="row-list">
          {stops.map((stop) => (
            <li key={stop.fromMs}>
              {time(stop.fromMs)}
              <span>{formatDuration(stop.toMs - stop.fromMs)}</span>
              <span>{describePlace(stop, geofenceNames)}</span>
            </li>
          ))}
        </ul>
      </section>
      <section className="card" aria-label={t('states')}>
        <h2>{t('states')}</h2>
        <ul className="row-list">
          {states.map(({ fromMs, toMs, style }) => (
            <li key={fromMs}>
              {time(fromMs)}
              <span>{formatDuration(toMs - fromMs)}</span>
              <span>{t(`common:state.${style}`)}</span>
            </li>
          ))}
        </ul>
      </section>
      <section className="card" aria-label={t('speeds')}>
        <h2>{t('speeds')}</h2>
        <ul className="row-list">
          {toSpeedRows(fixes).map(({ timeMs, speed }) => (
            <li key={timeMs}>
              {time(timeMs)}
              <span>{t('highest', { speed: format.speed(speed) })}</span>
            </li>
          ))}
        </ul>
      </section>
    </div>
  );
}

/** Returns where a vehicle stood: the geofences and the address, or else the position. */
function describePlace(stop: Stop, geofenceNames: ReadonlyMap<number, string>): string {
  const { geofenceIds, address, latitude, longitude } = stop;
  const names = geofenceIds.flatMap((id) => geofenceNames.get(id) ?? []);
  const places = address === null ? names : [...names, address];
  return places.length > 0 ? places.join(', ') : `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`;
}
