import { lazy, Suspense, useMemo } from 'react';
import type { EventRecord } from '../../../common/events/event-record.ts';
import { useTrack } from '../track.ts';

/** The list appears before the map is loaded. */
const MapView = lazy(() => import('../../../common/map/map-view.tsx').then((module) => ({ default: module.MapView })));

/** The place of an event, with the track of two minutes around it. Renders nothing without a place. */
export function EventMap({ event }: { event: EventRecord }) {
  const { track } = useTrack(event);
  const { id, vehicle_no: label, location } = event;
  const { latitude, longitude } = location;
  const vehicles = useMemo(
    () => [{ id, label, latitude, longitude, course: 0, state: 'stopped' }],
    [id, label, latitude, longitude],
  );
  if (latitude === 0 && longitude === 0) return null;
  return (
    <div className="events-map">
      <Suspense>
        <MapView vehicles={vehicles} selectedId={id} track={track} />
      </Suspense>
    </div>
  );
}
