import { Button, Group, Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { useLivePosition } from '../../common/live/live-context.ts';
import { useCan, useSession } from '../../common/session/session-context.ts';
import { StateMark } from '../../common/ui/marks.tsx';
import { NotFound } from '../../common/ui/not-found.tsx';
import { Failure, Loading } from '../../common/ui/states.tsx';
import { isVehicleTab, type VehicleTab, vehicleTabs } from './tabs.ts';
import './vehicle.css';

/** One vehicle, with a tab for each of its parts. The address names the tab. */
export function VehiclePage() {
  const { vehicleId, tab = 'overview' } = useParams({ strict: false });
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
  if (!isVehicleTab(tab)) return <NotFound />;
  return <VehicleDetails vehicle={vehicle.data} tab={tab} />;
}

function VehicleDetails({ vehicle, tab }: { vehicle: Vehicle; tab: VehicleTab }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const navigate = useNavigate();
  const visible = vehicleTabs.filter(({ permission }) => can(permission));
  const current = vehicleTabs.find(({ name }) => name === tab);
  const open = (name: string | null): void => {
    const params = { vehicleId: String(vehicle.id) };
    if (name === null || name === 'overview') void navigate({ to: '/vehicles/$vehicleId', params });
    else void navigate({ to: '/vehicles/$vehicleId/$tab', params: { ...params, tab: name } });
  };
  return (
    <div className="page">
      <VehicleTitle vehicle={vehicle} />
      <Tabs value={tab} onChange={open}>
        <Tabs.List mb="md" aria-label={t('tabs')}>
          {visible.map(({ name }) => (
            <Tabs.Tab key={name} value={name}>
              {t(`tab.${name}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          <Suspense fallback={<Loading />}>
            {current === undefined ? null : <current.component key={vehicle.id} vehicle={vehicle} />}
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </div>
  );
}

function VehicleTitle({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const can = useCan();
  const live = useLivePosition(vehicle.id);
  const state = live?.state ?? vehicle.state;
  return (
    <Group justify="space-between" mb="md">
      <h1>
        {vehicle.vehicle_no} {vehicle.name === vehicle.vehicle_no ? null : `“${vehicle.name}”`}
      </h1>
      <Group gap="sm">
        <span>
          <StateMark state={state} course={live?.course ?? vehicle.location?.course ?? 0} />{' '}
          {t(`common:state.${state}`)}
        </span>
        <Button size="xs" variant="default" component={Link} to={`/map?vehicle=${vehicle.id}`}>
          {t('onMap')}
        </Button>
        <Button size="xs" variant="default" component={Link} to={`/vehicles/${vehicle.id}/day/today`}>
          {t('day')}
        </Button>
        {can('video') ? (
          <Button size="xs" variant="default" component={Link} to={`/vehicles/${vehicle.id}/media`}>
            {t('media')}
          </Button>
        ) : null}
      </Group>
    </Group>
  );
}
