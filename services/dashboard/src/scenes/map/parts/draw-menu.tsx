import { Button, Menu } from '@mantine/core';
import { IconCircle, IconPencil, IconPolygon, IconRoute, IconRouteAltLeft } from '@tabler/icons-react';
import type { FeatureCollection } from 'geojson';
import { useTranslation } from 'react-i18next';
import { shapeKinds } from '../../../common/map/shapes.ts';
import { useCan } from '../../../common/session/session-context.ts';
import type { Edit } from '../search.ts';

interface DrawMenuProps {
  readonly geofences: FeatureCollection;
  readonly routes: FeatureCollection;
  readonly onEdit: (edit: Edit) => void;
}

const icons = { polygon: IconPolygon, circle: IconCircle, corridor: IconRouteAltLeft } as const;

/** Offers to draw a geofence or a route, and opens those that the map displays. */
export function DrawMenu({ geofences, routes, onEdit }: DrawMenuProps) {
  const { t } = useTranslation('map');
  const can = useCan();
  const mayDraw = can('fleet');
  const places = [...toPlaces('geofence', geofences), ...toPlaces('route', routes)];
  if (!mayDraw && places.length === 0) return null;
  return (
    <Menu position="bottom-start" withinPortal withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button size="xs" variant="default" leftSection={<IconPencil size={16} aria-hidden />}>
          {t(mayDraw ? 'draw' : 'places')}
        </Button>
      </Menu.Target>
      <Menu.Dropdown className="map-menu">
        {mayDraw ? (
          <>
            {shapeKinds.map((shape) => {
              const Icon = icons[shape];
              return (
                <Menu.Item
                  key={shape}
                  leftSection={<Icon size={16} aria-hidden />}
                  onClick={() => onEdit({ kind: 'geofence', id: null, shape })}
                >
                  {t(`drawShape.${shape}`)}
                </Menu.Item>
              );
            })}
            <Menu.Item
              leftSection={<IconRoute size={16} aria-hidden />}
              onClick={() => onEdit({ kind: 'route', id: null, shape: 'corridor' })}
            >
              {t('drawShape.route')}
            </Menu.Item>
          </>
        ) : null}
        {places.length === 0 ? null : <Menu.Label>{t('onMap')}</Menu.Label>}
        {places.map(({ kind, id, name }) => (
          <Menu.Item key={`${kind}.${id}`} onClick={() => onEdit({ kind, id, shape: 'polygon' })}>
            {t(`editPlace.${kind}`, { name })}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

/** Returns the names of places on the map. */
const toPlaces = (kind: Edit['kind'], { features }: FeatureCollection) =>
  features.map(({ properties }) => ({
    kind,
    id: Number(properties?.['id']),
    name: String(properties?.['name'] ?? ''),
  }));
