import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { useFormat } from '../../common/format/preferences-context.ts';
import { useLivePosition } from '../../common/live/live-context.ts';
import { MapView } from '../../common/map/map-view.tsx';
import { useCan, useSession } from '../../common/session/session-context.ts';
import { Age } from '../../common/ui/age.tsx';
import { Facts } from '../../common/ui/facts.tsx';
import { StateMark } from '../../common/ui/marks.tsx';
import { Failure, Loading } from '../../common/ui/states.tsx';
import { VideoTile } from '../../common/video/tile.tsx';
import { Commands } from './parts/commands.tsx';
import './vehicle.css';

const route = getRouteApi('/app/vehicles/$vehicleId');

/** One vehicle: position, facts, cameras and commands. */
export function VehiclePage() {
  const { vehicleId } = route.useParams();
  const { api } = useSession();
  const id = Number(vehicleId);
  const vehicle = useQuery({
    queryKey: ['getVehicle', id],
    queryFn: async () => {
      const { data } = await api.GET('/api/vehicles/{vehicleId}', { params: { path: { vehicleId: id } } });
      if (data === undefined) throw new Error('The server returned no vehicle.');
      return data.data;
    },
  });
  if (vehicle.isPending) return <Loading />;
  if (vehicle.isError) return <Failure error={vehicle.error} onRetry={() => void vehicle.refetch()} />;
  return <VehicleDetails vehicle={vehicle.data} />;
}

function VehicleDetails({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const live = useLivePosition(vehicle.id);
  const state = live?.state ?? vehicle.state;
  const position = live ?? vehicle.location;
  return (
    <div className="page">
      <Group justify="space-between" mb="md">
        <h1>
          {vehicle.vehicle_no} {vehicle.name === vehicle.vehicle_no ? null : `“${vehicle.name}”`}
        </h1>
        <Group gap="sm">
          <span>
            <StateMark state={state} course={position?.course ?? 0} /> {t(`common:state.${state}`)}
          </span>
          <Button size="xs" variant="default" component={Link} to={`/map?vehicle=${vehicle.id}`}>
            {t('onMap')}
          </Button>
        </Group>
      </Group>
      <div className="vehicle-grid">
        <section className="card" aria-label={t('position')}>
          <h2>{t('position')}</h2>
          {position === null || position === undefined ? (
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
        {can('commands') ? <Commands vehicleId={vehicle.id} isConnected={vehicle.device?.connected === true} /> : null}
      </div>
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

/** The cameras: a picture appears only after a click, because live video uses mobile data. */
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
