import { ApiFailure } from '@fleet/api-client';
import { Button, Group, Text } from '@mantine/core';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../format/preferences-context.ts';
import { DeletePlace } from '../places/delete-place.tsx';
import { PlaceEvents } from '../places/place-events.tsx';
import type { ShapeState } from '../places/use-shape.ts';
import { useCan } from '../session/session-context.ts';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { LinkedVehicles } from './linked-vehicles.tsx';
import { emptyForm, type Route, toForm, toShape } from './model.ts';
import type { Preview } from './preview.ts';
import { useDeleteRoute, useRoute, useTollGates } from './queries.ts';
import { RouteFormPanel } from './route-form-panel.tsx';
import { TollGates } from './toll-gates.tsx';

interface NewRouteProps {
  readonly editing: ShapeState;
  readonly onPreview: (preview: Preview | null) => void;
  readonly onCreated: (id: number) => void;
  readonly onCancel: () => void;
}

/** Draws and creates a route. */
export function NewRoute({ editing: { actions, ...state }, onPreview, onCreated, onCancel }: NewRouteProps) {
  const { t } = useTranslation('routes');
  useEffect(() => {
    actions.draw('corridor');
    return () => actions.set(null);
  }, [actions]);
  return (
    <>
      <h2>{t('add')}</h2>
      <RouteFormPanel
        route={null}
        values={emptyForm}
        marks={[]}
        editing={{ ...state, actions }}
        onPreview={onPreview}
        onSaved={({ id }) => onCreated(id)}
      >
        <Button variant="default" onClick={onCancel}>
          {t('common:action.cancel')}
        </Button>
      </RouteFormPanel>
    </>
  );
}

interface RoutePanelProps {
  readonly id: number;
  readonly editing: ShapeState;
  readonly onPreview: (preview: Preview | null) => void;
  readonly onClose: () => void;
}

/** One route: its form for users who may change it, its vehicles, toll gates and events. */
export function RoutePanel({ id, editing, onPreview, onClose }: RoutePanelProps) {
  const { t } = useTranslation('routes');
  const route = useRoute(id);
  const back = (
    <Button variant="default" size="xs" onClick={onClose}>
      {t('back')}
    </Button>
  );
  if (route.isPending) return <Loading />;
  if (route.isError) {
    if (route.error instanceof ApiFailure && route.error.status === 404)
      return <Empty title={t('missing')}>{back}</Empty>;
    return <Failure error={route.error} onRetry={() => void route.refetch()} />;
  }
  return (
    <>
      <Group justify="space-between" wrap="nowrap" className="places-head">
        <h2>{route.data.name}</h2>
        {back}
      </Group>
      <RouteDetails route={route.data} editing={editing} onPreview={onPreview} onClose={onClose} />
      <section aria-label={t('events')}>
        <h3>{t('events')}</h3>
        <PlaceEvents types="route,route_deviation" attribute="route_id" id={id} />
      </section>
    </>
  );
}

interface RouteDetailsProps extends Omit<RoutePanelProps, 'id'> {
  readonly route: Route;
}

function RouteDetails({ route, editing, onPreview, onClose }: RouteDetailsProps) {
  const { t } = useTranslation('routes');
  const can = useCan();
  const format = useFormat();
  const gates = useTollGates(route.id);
  const [loaded, setLoaded] = useState(route);
  const { actions } = editing;
  const mayChange = can('fleet');
  useEffect(() => {
    if (mayChange) actions.set(toShape(route));
    return () => {
      actions.set(null);
      onPreview(null);
    };
    // Saved records replace the shape in the form.
  }, [actions, mayChange]);
  const remove = useDeleteRoute(loaded, onClose);
  const marks = (gates.data ?? []).map(({ name, latitude, longitude }) => ({
    name,
    position: [latitude, longitude] as const,
    isFocused: false,
  }));
  return (
    <>
      <Text>
        {t('facts', {
          distance: format.distance(route.distance_m / 1_000),
          minutes: Math.round(route.duration_seconds / 60),
        })}{' '}
        {t(`source.${route.path_source}`)}
      </Text>
      <LinkedVehicles route={route} onLinked={(newest) => setLoaded((before) => withOwnLink(before, newest))} />
      <TollGates gates={gates} />
      {mayChange ? (
        <RouteFormPanel
          route={loaded}
          values={toForm(loaded)}
          marks={marks}
          editing={editing}
          onPreview={onPreview}
          onSaved={setLoaded}
        >
          <DeletePlace
            name={route.name}
            text={t('deleteText')}
            error={remove.error}
            isPending={remove.isPending}
            onDelete={() => remove.mutate()}
          />
        </RouteFormPanel>
      ) : null}
    </>
  );
}

/** Returns the loaded route after a link of this page. A change of somebody else in between remains a conflict. */
function withOwnLink(loaded: Route, newest: Route): Route {
  if (newest.version !== loaded.version + 1) return loaded;
  return { ...loaded, version: newest.version, vehicle_ids: newest.vehicle_ids };
}
