import { Button } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useDrivers } from '../../../common/fleet/queries.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { useLivePosition } from '../../../common/live/live-context.ts';
import { MapView } from '../../../common/map/map-view.tsx';
import { useCan } from '../../../common/session/session-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { Facts } from '../../../common/ui/facts.tsx';
import { VideoTile } from '../../../common/video/tile.tsx';

/** Shows position, facts and cameras of the vehicle. */
export function OverviewTab({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const live = useLivePosition(vehicle.id);
  const state = live?.state ?? vehicle.state;
  const position = live ?? vehicle.location;
  return (
    <div className="vehicle-grid">
      <section className="card" aria-label={t('position')}>
        <h2>{t('position')}</h2>
        {position === null ? (
          <p>{t('noPosition')}</p>
        ) : (
          <div className="vehicle-map">
            <MapView
              vehicles={[{ ...position, id: vehicle.id, label: vehicle.name, state }]}
              selectedId={vehicle.id}
              isFollowing
            />
          </div>
        )}
      </section>
      <VehicleFacts vehicle={vehicle} />
      {can('video') ? <Cameras vehicle={vehicle} /> : null}
    </div>
  );
}

function VehicleFacts({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const format = useFormat();
  const { location, device } = vehicle;
  const facts: [string, React.ReactNode][] = [
    [t('fact.speed'), location === null ? '–' : format.speed(location.speed)],
    [t('fact.lastFix'), location === null ? '–' : <Age timeMs={location.timestamp} />],
    [t('fact.driver'), <DriverLink key="driver" id={vehicle.driver_id} />],
    [t('fact.odometer'), format.distance(vehicle.odometer_km)],
    [t('fact.fuel'), location?.fuel_l == null ? '–' : format.volume(location.fuel_l)],
    [t('fact.terminal'), vehicle.imei ?? '–'],
    [t('fact.protocol'), device?.protocol ?? '–'],
    [t('fact.model'), [device?.manufacturer, device?.model].filter(Boolean).join(' ') || '–'],
    [t('fact.firmware'), device?.firmware ?? '–'],
    [t('fact.connected'), t(device?.connected === true ? 'yes' : 'no')],
    [t('fact.timezone'), vehicle.timezone],
  ];
  return (
    <section className="card" aria-label={t('facts')}>
      <h2>{t('facts')}</h2>
      <Facts facts={facts} />
    </section>
  );
}

function DriverLink({ id }: { id: number | null }) {
  const { data: drivers = [] } = useDrivers();
  const driver = drivers.find((each) => each.id === id);
  if (driver === undefined) return '–';
  return (
    <Link to="/drivers/$driverId" params={{ driverId: String(driver.id) }}>
      {driver.name}
    </Link>
  );
}

/** Shows the cameras: a picture appears only after a click, because live video uses mobile data. */
function Cameras({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const [visible, setVisible] = useState<readonly number[]>([]);
  const [audible, setAudible] = useState<number | null>(null);
  const channels =
    vehicle.channels.length === 0
      ? [{ channel_id: 1, name: '1' }]
      : vehicle.channels.filter((channel) => channel.enabled);
  return (
    <section className="card vehicle-cameras" aria-label={t('cameras')}>
      <h2>{t('cameras')}</h2>
      <p>{t('dataHint')}</p>
      <div className="vehicle-tiles">
        {channels.map(({ channel_id: channelId, name }) =>
          visible.includes(channelId) ? (
            <VideoTile
              key={channelId}
              vehicleId={vehicle.id}
              channelId={channelId}
              title={name}
              streamType="LOW"
              isMuted={audible !== channelId}
              mayCapture={vehicle.permissions.includes('commands')}
              onMute={(isMuted) => setAudible(isMuted ? null : channelId)}
              onClose={() => setVisible(visible.filter((id) => id !== channelId))}
            />
          ) : (
            <Button key={channelId} variant="default" h={160} onClick={() => setVisible([...visible, channelId])}>
              {t('watch', { name })}
            </Button>
          ),
        )}
      </div>
    </section>
  );
}
