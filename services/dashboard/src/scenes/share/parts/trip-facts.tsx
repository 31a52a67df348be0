import { useTranslation } from 'react-i18next';
import { StateMark } from '../../../common/ui/marks.tsx';
import { formatAgo, formatTime, formatUnit } from '../format.ts';
import { describeArrival, type ShareState } from '../share-state.ts';
import type { SharedView } from '../shared-view.ts';
import { useClock } from '../use-clock.ts';

type Shared = Extract<ShareState, { kind: 'open' }>;

/** Shows state, age of the position, and arrival, as text for those who do not see the map. */
export function TripFacts({ shared }: { readonly shared: Shared }) {
  const { t, i18n } = useTranslation('share');
  const nowMs = useClock();
  const { location, state } = shared.view;
  return (
    <div className="share-facts">
      <p className="share-state">
        <StateMark state={state} course={location?.course ?? 0} size={20} />{' '}
        <strong>{useStateText(shared.view)}</strong>
      </p>
      {location === null ? (
        <p>{t(shared.view.permissions.includes('location') ? 'noPosition' : 'noLocation')}</p>
      ) : (
        <p>
          <time dateTime={new Date(location.timestamp).toISOString()}>
            {t('updated', { age: formatAgo(location.timestamp, nowMs, i18n.language) })}
          </time>
        </p>
      )}
      <ArrivalText shared={shared} nowMs={nowMs} />
    </div>
  );
}

function useStateText({ state, state_since: sinceMs, location }: SharedView): string {
  const { t, i18n } = useTranslation('share');
  const name = t(`common:state.${state}`);
  if (state === 'moving' && location !== null)
    return `${name} ${formatUnit(Math.round(location.speed), 'kilometer-per-hour', i18n.language)}`;
  if (sinceMs === null || state === 'moving') return name;
  return t('since', { state: name, time: formatTime(sinceMs, Date.now(), i18n.language) });
}

function ArrivalText({ shared, nowMs }: { readonly shared: Shared; readonly nowMs: number }) {
  const { t, i18n } = useTranslation('share');
  const arrival = describeArrival(shared, nowMs);
  if (arrival === null) return null;
  if (arrival.kind !== 'expected') return <p>{t(arrival.kind === 'arrived' ? 'arrived' : 'arrivalUnknown')}</p>;
  const { timeMs, distanceKm } = arrival;
  return (
    <p className="share-arrival">
      <strong>{t('arrives', { time: formatTime(timeMs, nowMs, i18n.language) })}</strong>
      {distanceKm === null ? null : (
        <span>
          {t('left', { distance: formatUnit(distanceKm, 'kilometer', i18n.language, distanceKm < 10 ? 1 : 0) })}
        </span>
      )}
      {shared.view.destination?.name == null ? null : <span>{shared.view.destination.name}</span>}
    </p>
  );
}
