import { TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useLivePositions } from '../../../common/live/live-context.ts';
import { StateMark } from '../../../common/ui/marks.tsx';
import type { Camera } from '../search.ts';

interface CameraListProps {
  readonly vehicles: readonly Vehicle[];
  readonly isVisible: (camera: Camera) => boolean;
  readonly onToggle: (camera: Camera) => void;
}

const maxVehicles = 200;

/** Returns the enabled cameras; a vehicle without a list has the first one. */
function camerasOf({ id, channels }: Vehicle): (Camera & { name: string })[] {
  const enabled = channels.filter((channel) => channel.enabled);
  const listed = channels.length === 0 ? [{ channel_id: 1, name: '1' }] : enabled;
  return listed.map(({ channel_id: channelId, name }) => ({ vehicleId: id, channelId, name }));
}

/** Returns the number with the name, as buttons show the number. */
const labelOf = (channelId: number, name: string): string =>
  name === String(channelId) ? name : `${channelId} ${name}`;

/** Lists the cameras of all vehicles, to put into tiles. */
export function CameraList({ vehicles, isVisible, onToggle }: CameraListProps) {
  const { t } = useTranslation('video');
  const positions = useLivePositions();
  const [query, setQuery] = useState('');
  const wanted = query.toLowerCase();
  const found = vehicles.filter(({ name, vehicle_no: no }) => `${name} ${no}`.toLowerCase().includes(wanted));
  return (
    <aside className="video-cameras">
      <TextInput
        aria-label={t('search')}
        placeholder={t('search')}
        value={query}
        onChange={({ currentTarget }) => setQuery(currentTarget.value)}
      />
      <ul aria-label={t('cameras')}>
        {found.slice(0, maxVehicles).map((vehicle) => (
          <li key={vehicle.id}>
            <span>
              <StateMark state={positions.get(vehicle.id)?.state ?? vehicle.state} /> {vehicle.name}
            </span>
            <span>
              {camerasOf(vehicle).map(({ name, ...camera }) => (
                <button
                  key={camera.channelId}
                  type="button"
                  aria-pressed={isVisible(camera)}
                  aria-label={t('camera', { vehicle: vehicle.name, camera: labelOf(camera.channelId, name) })}
                  onClick={() => onToggle(camera)}
                >
                  {camera.channelId}
                </button>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </aside>
  );
}
