import { Badge, Button, Group, NativeSelect } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { readAllPages } from '../../../common/fleet/queries.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { useCan, useSession } from '../../../common/session/session-context.ts';
import { Empty, Failure, Loading } from '../../../common/ui/states.tsx';

/** Progress changes with each position. */
const refreshMs = 10_000;

/** Lists the routes of the vehicle with its progress and time of arrival. */
export function RoutesTab({ vehicle }: { vehicle: Vehicle }) {
  const { t } = useTranslation('vehicle');
  const { api } = useSession();
  const queries = useQueryClient();
  const can = useCan();
  const format = useFormat();
  const path = { vehicleId: vehicle.id };
  const linked = useQuery({
    queryKey: ['listLinkedRoutes', vehicle.id],
    queryFn: () =>
      readAllPages(async (page) => {
        const params = { path, query: page };
        return (await api.GET('/api/vehicles/{vehicleId}/list-linked-routes', { params })).data?.data;
      }),
    refetchInterval: refreshMs,
  });
  const change = useMutation({
    mutationFn: ({ id, isLinked }: { id: number; isLinked: boolean }): Promise<unknown> => {
      const request = { params: { path }, body: { route_ids: [id] } };
      return isLinked
        ? api.POST('/api/vehicles/{vehicleId}/unlink-route', request)
        : api.POST('/api/vehicles/{vehicleId}/link-route', request);
    },
    onSettled: () => queries.invalidateQueries({ queryKey: ['listLinkedRoutes', vehicle.id] }),
  });
  if (linked.isPending) return <Loading />;
  if (linked.isError) return <Failure error={linked.error} onRetry={() => void linked.refetch()} />;
  const mayChange = can('fleet') && vehicle.access === 'owner';
  return (
    <section className="card" aria-label={t('routes.title')}>
      <h2>{t('routes.title')}</h2>
      {change.isError ? <Failure error={change.error} /> : null}
      {linked.data.length === 0 ? <Empty title={t('routes.empty')} /> : null}
      <ul className="row-list">
        {linked.data.map(({ id, name, distance_m: lengthM, progress }) => (
          <li key={id}>
            <strong>{name}</strong>
            <Badge variant={progress.off_route === true ? 'filled' : 'default'} color="critical">
              {t(routeState(progress.off_route))}
            </Badge>
            <span>
              {progress.distance_remaining_m === null
                ? t('routes.length', { distance: format.distance(lengthM / 1_000) })
                : t('routes.left', { distance: format.distance(progress.distance_remaining_m / 1_000) })}
            </span>
            <span>
              {progress.eta === null ? '' : t('routes.eta', { time: format.dateTime(Date.parse(progress.eta)) })}
            </span>
            {mayChange ? (
              <Button size="compact-sm" variant="default" onClick={() => change.mutate({ id, isLinked: true })}>
                {t('routes.unlink')}
              </Button>
            ) : null}
          </li>
        ))}
      </ul>
      {mayChange ? (
        <LinkRoute
          linkedIds={linked.data.map(({ id }) => id)}
          isPending={change.isPending}
          onLink={(id) => change.mutate({ id, isLinked: false })}
        />
      ) : null}
    </section>
  );
}

const routeState = (isOffRoute: boolean | null) =>
  isOffRoute === null ? 'routes.unknown' : isOffRoute ? 'routes.offRoute' : 'routes.onRoute';

interface LinkRouteProps {
  readonly linkedIds: readonly number[];
  readonly isPending: boolean;
  readonly onLink: (id: number) => void;
}

function LinkRoute({ linkedIds, isPending, onLink }: LinkRouteProps) {
  const { t } = useTranslation('vehicle');
  const { api } = useSession();
  const [chosen, setChosen] = useState('');
  const { data: routes = [] } = useQuery({
    queryKey: ['listRoutes', 'all'],
    queryFn: () => readAllPages(async (page) => (await api.GET('/api/routes', { params: { query: page } })).data?.data),
  });
  const free = routes.filter(({ id }) => !linkedIds.includes(id));
  if (free.length === 0) return <p>{t('routes.noOther')}</p>;
  return (
    <Group align="flex-end" gap="sm" mt="sm">
      <NativeSelect
        label={t('routes.other')}
        data={[{ value: '', label: '–' }, ...free.map(({ id, name }) => ({ value: String(id), label: name }))]}
        value={chosen}
        onChange={({ currentTarget }) => setChosen(currentTarget.value)}
      />
      <Button disabled={chosen === ''} loading={isPending} onClick={() => onLink(Number(chosen))}>
        {t('routes.link')}
      </Button>
    </Group>
  );
}
