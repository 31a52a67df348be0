import { Badge, Button, Group, NativeSelect, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../fleet/queries.ts';
import { useFormat } from '../format/preferences-context.ts';
import { useCan } from '../session/session-context.ts';
import { Failure } from '../ui/states.tsx';
import type { Route } from './model.ts';
import { useLink, useProgress } from './queries.ts';

interface LinkedVehiclesProps {
  readonly route: Route;
  /** Receives the route after a link was added or removed. */
  readonly onLinked: (route: Route) => void;
}

/** Lists the vehicles of a route with progress and time of arrival. */
export function LinkedVehicles({ route, onLinked }: LinkedVehiclesProps) {
  const { t } = useTranslation('routes');
  const can = useCan();
  const format = useFormat();
  const { data: vehicles = [] } = useVehicles();
  const progress = useProgress(route.id, route.vehicle_ids);
  const link = useLink(route.id, onLinked);
  const names = new Map(vehicles.map(({ id, vehicle_no: no }) => [id, no]));
  return (
    <section aria-label={t('vehicles')}>
      <h3>{t('vehicles')}</h3>
      {link.isError ? <Failure error={link.error} /> : null}
      {route.vehicle_ids.length === 0 ? <Text c="dimmed">{t('noVehicles')}</Text> : null}
      <ul className="row-list">
        {route.vehicle_ids.map((id, index) => {
          const current = progress[index]?.data ?? null;
          return (
            <li key={id}>
              <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(id) }}>
                {names.get(id) ?? id}
              </Link>
              <Badge variant={current?.off_route === true ? 'filled' : 'default'} color="critical">
                {t(routeState(current?.off_route ?? null))}
              </Badge>
              <span>
                {current?.distance_remaining_m == null
                  ? ''
                  : t('left', { distance: format.distance(current.distance_remaining_m / 1_000) })}{' '}
                {current?.eta == null ? '' : t('eta', { time: format.dateTime(Date.parse(current.eta)) })}
              </span>
              {can('fleet') ? (
                <Button
                  size="compact-sm"
                  variant="default"
                  onClick={() => link.mutate({ vehicleId: id, isLinked: true })}
                >
                  {t('unlink')}
                </Button>
              ) : null}
            </li>
          );
        })}
      </ul>
      {can('fleet') ? (
        <LinkVehicle
          vehicles={vehicles.filter(({ id, access }) => access === 'owner' && !route.vehicle_ids.includes(id))}
          isPending={link.isPending}
          onLink={(vehicleId) => link.mutate({ vehicleId, isLinked: false })}
        />
      ) : null}
    </section>
  );
}

const routeState = (isOffRoute: boolean | null) =>
  isOffRoute === null ? 'state.unknown' : isOffRoute ? 'state.offRoute' : 'state.onRoute';

interface LinkVehicleProps {
  readonly vehicles: readonly { readonly id: number; readonly vehicle_no: string }[];
  readonly isPending: boolean;
  readonly onLink: (vehicleId: number) => void;
}

function LinkVehicle({ vehicles, isPending, onLink }: LinkVehicleProps) {
  const { t } = useTranslation('routes');
  const [chosen, setChosen] = useState('');
  return (
    <Group align="flex-end" gap="sm">
      <NativeSelect
        label={t('otherVehicle')}
        data={[
          { value: '', label: '–' },
          ...vehicles.map(({ id, vehicle_no: no }) => ({ value: String(id), label: no })),
        ]}
        value={chosen}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
      />
      <Button
        disabled={chosen === ''}
        loading={isPending}
        onClick={() => {
          onLink(Number(chosen));
          setChosen('');
        }}
      >
        {t('link')}
      </Button>
    </Group>
  );
}
