import { CloseButton, Group, Loader } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { useLiveStore, useVisibleSlots } from '../../../common/live/live-context.ts';
import { StateMark } from '../../../common/ui/marks.tsx';
import { findNearest } from '../model.ts';
import { useArrivals } from '../queries.ts';

const nearestCount = 5;
const metresPerKm = 1_000;

interface NearestPanelProps {
  readonly place: readonly [number, number];
  readonly onSelect: (vehicleId: number) => void;
  readonly onClose: () => void;
}

/** Shows the nearest vehicles to a place, with the times at which they would arrive. */
export function NearestPanel({ place, onSelect, onClose }: NearestPanelProps) {
  const { t } = useTranslation('map');
  const format = useFormat();
  const store = useLiveStore();
  const { hasLoaded } = useVisibleSlots();
  const [latitude, longitude] = place;
  // The list stays as it was when the place was chosen.
  const nearest = useMemo(
    () => (hasLoaded ? findNearest(store.columns, [latitude, longitude], nearestCount) : []),
    [store, hasLoaded, latitude, longitude],
  );
  const vehicles = nearest.flatMap(({ slot, distanceM }) => {
    const vehicle = store.vehicleAt(slot);
    return vehicle === undefined ? [] : [{ ...vehicle, distanceM }];
  });
  const arrivals = useArrivals(
    vehicles.map(({ id }) => id),
    place,
  );
  return (
    <section className="map-panel card" aria-label={t('nearestTo')}>
      <Group justify="space-between" wrap="nowrap">
        <h2>{t('nearestTo')}</h2>
        <CloseButton aria-label={t('common:action.close')} onClick={onClose} />
      </Group>
      <p className="map-muted">{`${latitude.toFixed(4)}, ${longitude.toFixed(4)}`}</p>
      {hasLoaded && vehicles.length === 0 ? <p>{t('noneNear')}</p> : null}
      <ol className="map-nearest">
        {vehicles.map(({ id, name, state, position, distanceM }, index) => (
          <li key={id}>
            <button type="button" className="map-row" onClick={() => onSelect(id)}>
              <StateMark state={state} course={position?.course ?? 0} />
              <span className="map-list-name">
                <strong>{name}</strong>
                <small>{format.distance(distanceM / metresPerKm)}</small>
              </span>
              <Arrival query={arrivals[index]} />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** Shows the arrival time of a vehicle; a dash if no route is known. */
function Arrival({ query }: { query: ReturnType<typeof useArrivals>[number] | undefined }) {
  const { t } = useTranslation('map');
  const format = useFormat();
  if (query === undefined || query.isPending) return <Loader size="xs" />;
  const route = query.data;
  if (route === undefined || route === null) return <span title={t('noRoute')}>–</span>;
  return (
    <span className="map-list-value">
      <span>{t('arrives', { time: format.clock(Date.parse(route.eta)) })}</span>
      <small>{format.distance(route.distance_m / metresPerKm)}</small>
    </span>
  );
}
