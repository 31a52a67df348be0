import { Button, Group } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { useLivePosition } from '../../common/live/live-context.ts';
import { useCan, useSession } from '../../common/session/session-context.ts';
import { StateMark } from '../../common/ui/marks.tsx';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { NotFound } from '../../common/ui/not-found.tsx';
import { PageTabs } from '../../common/ui/page-tabs.tsx';
import { Failure, Loading } from '../../common/ui/states.tsx';
import { isVehicleTab, type VehicleTab, vehicleTabs } from './tabs.ts';
import './vehicle.css';

/** Shows one vehicle, with a tab for each of its parts. The address names the tab. */
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
  const open = (name: string): void => {
    const params = { vehicleId: String(vehicle.id) };
    if (name === 'overview') void navigate({ to: '/vehicles/$vehicleId', params });
    else void navigate({ to: '/vehicles/$vehicleId/$tab', params: { ...params, tab: name } });
  };
  if (!vehicleTabs.some(({ name, permission }) => name === tab && can(permission))) return <NoPermission />;
  return (
    <div className="page">
      <VehicleTitle vehicle={vehicle} />
      <PageTabs
        tabs={vehicleTabs
          .filter(({ permission }) => can(permission))
          .map(({ name, component: Content }) => ({
            name,
            label: t(`tab.${name}`),
            content: (
              <Suspense fallback={<Loading />}>
                <Content key={vehicle.id} vehicle={vehicle} />
              </Suspense>
            ),
          }))}
        current={tab}
        label={t('tabs')}
        onChange={open}
      />
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
