import { Spotlight, type SpotlightActionGroupData, type SpotlightFilterFunction, spotlight } from '@mantine/spotlight';
import '@mantine/spotlight/styles.css';
import { IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../fleet/queries.ts';
import { useCan, useSession } from '../session/session-context.ts';
import { hasRecordRoute, hasRoute, pages } from './pages.ts';

/** Rows that a search shows at most. */
const maxRows = 12;
const maxRecords = 200;

/** Reads the names of drivers, geofences and routes, once for each opening of the page. */
function useNamedRecords() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['palette', 'records'],
    queryFn: async () => {
      const params = { query: { limit: maxRecords } };
      const [drivers, geofences, routes] = await Promise.all([
        api.GET('/api/drivers', { params }),
        api.GET('/api/geofences', { params }),
        api.GET('/api/routes', { params }),
      ]);
      return {
        drivers: drivers.data?.data ?? [],
        geofences: geofences.data?.data ?? [],
        routes: routes.data?.data ?? [],
      };
    },
  }).data;
}

/** Plates are written with and without spaces and hyphens. */
const normalize = (text: string): string => text.toLowerCase().replaceAll(/[\s-]/g, '');

/** Returns the actions whose label, description or keywords contain the query. */
const filterActions: SpotlightFilterFunction = (query, groups) => {
  const wanted = normalize(query);
  return groups.flatMap<(typeof groups)[number]>((group) => {
    if (!('actions' in group)) return [group];
    const actions = group.actions.filter(({ label, description, keywords }) =>
      [label, description, keywords].flat().some((text) => text !== undefined && normalize(text).includes(wanted)),
    );
    return actions.length === 0 ? [] : [{ ...group, actions }];
  });
};

/** Groups of the palette: pages, vehicles, drivers and places that the user can open. */
function useGroups(): SpotlightActionGroupData[] {
  const { t } = useTranslation();
  const router = useRouter();
  const can = useCan();
  const session = useSession();
  const { data: vehicles = [] } = useVehicles();
  const records = useNamedRecords();
  const open = (path: string) => () => router.history.push(path);
  const named = (group: string, folder: string, rows: readonly { id: number; name: string }[]) => ({
    group: t(`palette.${group}`),
    actions: hasRecordRoute(router.routesByPath, folder)
      ? rows.map(({ id, name }) => ({ id: `${group}-${id}`, label: name, onClick: open(`${folder}/${id}`) }))
      : [],
  });
  return [
    {
      group: t('palette.pages'),
      actions: pages
        .filter((page) => hasRoute(router.routesByPath, page.path) && (!('permission' in page) || can(page.permission)))
        .map(({ name, path }) => ({ id: `page-${name}`, label: t(`palette.page.${name}`), onClick: open(path) })),
    },
    {
      group: t('palette.vehicles'),
      actions: vehicles.map(({ id, vehicle_no: number, name, imei }) => ({
        id: `vehicle-${id}`,
        label: name ?? number,
        description: number,
        keywords: [number, imei ?? ''],
        onClick: open(`/vehicles/${id}`),
      })),
    },
    named('drivers', '/drivers', records?.drivers ?? []),
    named('geofences', '/geofences', records?.geofences ?? []),
    named('routes', '/routes', records?.routes ?? []),
    {
      group: t('palette.actions'),
      actions: [{ id: 'log-out', label: t('nav.logOut'), onClick: () => void session.logOut() }],
    },
  ].filter(({ actions }) => actions.length > 0);
}

/** Opens the first row if none is selected: the library selects one while the user types, before late rows arrive. */
function openFirst(field: HTMLElement): void {
  const dialog = field.closest('[role=dialog]');
  if (dialog?.querySelector('[data-selected]') === null) dialog.querySelector<HTMLElement>('[data-action]')?.click();
}

/** Searches pages, vehicles, drivers, places and actions. Opens as soon as it is loaded. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const groups = useGroups();
  useEffect(() => spotlight.open(), []);
  return (
    <Spotlight
      actions={groups}
      filter={filterActions}
      attributes={{ content: { 'aria-label': t('palette.placeholder') } }}
      // The library's shade of descriptions has too little contrast on the selected row.
      styles={{ actionDescription: { opacity: 1, color: 'inherit' } }}
      limit={maxRows}
      shortcut={null}
      nothingFound={t('palette.nothing')}
      scrollable
      maxHeight="60vh"
      onSpotlightClose={onClose}
      searchProps={{
        leftSection: <IconSearch size={18} aria-hidden />,
        placeholder: t('palette.placeholder'),
        'aria-label': t('palette.placeholder'),
        onKeyDown: (event) => {
          if (event.key === 'Enter' && !event.nativeEvent.isComposing) openFirst(event.currentTarget);
        },
      }}
    />
  );
}
