import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { TripMap } from '../../../common/map/trip-map.tsx';
import type { SharedView } from '../shared-view.ts';

interface VehicleMapProps {
  readonly view: SharedView;
  readonly location: NonNullable<SharedView['location']>;
}

/** Shows the vehicle on the map. Dragging the map ends following. */
export function VehicleMap({ view: { vehicle, state, track, destination }, location }: VehicleMapProps) {
  const { t } = useTranslation('share');
  const [isFollowing, setIsFollowing] = useState(true);
  const mark = useMemo(() => ({ ...location, id: 1, label: vehicle.name, state }), [location, vehicle.name, state]);
  const line = useMemo(() => track.map(([latitude = 0, longitude = 0]) => [latitude, longitude] as const), [track]);
  return (
    <div className="share-map">
      <TripMap
        vehicle={mark}
        track={line}
        destination={destination}
        isFollowing={isFollowing}
        onDrag={() => setIsFollowing(false)}
      />
      {isFollowing ? null : (
        <button type="button" className="share-button share-follow" onClick={() => setIsFollowing(true)}>
          {t('follow')}
        </button>
      )}
    </div>
  );
}
