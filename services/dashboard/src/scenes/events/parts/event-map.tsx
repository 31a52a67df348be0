import { useMemo } from 'react';
import type { EventRecord } from '../../../common/events/event-record.ts';
import { MapView } from '../../../common/map/map-view.tsx';
import { useTrack } from '../track.ts';

/** Shows the place of an event, with the track of two minutes around it. Renders nothing without a place. */
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
      <MapView vehicles={vehicles} selectedId={id} track={track} />
    </div>
  );
}
