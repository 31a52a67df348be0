import { Badge, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../fleet/queries.ts';
import type { Geofence } from './model.ts';

/** Shows the states of the area in the memory of each terminal. */
export function TerminalSync({ geofence }: { geofence: Geofence }) {
  const { t } = useTranslation('geofences');
  const { data: vehicles = [] } = useVehicles();
  if (!geofence.push_to_terminal) return null;
  const names = new Map(vehicles.map(({ imei, vehicle_no: number }) => [imei, number]));
  const states = Object.entries(geofence.terminal_sync);
  return (
    <section aria-label={t('terminals')}>
      <h3>{t('terminals')}</h3>
      {states.length === 0 ? <Text c="dimmed">{t('noTerminals')}</Text> : null}
      <ul className="row-list">
        {states.map(([imei, state]) => (
          <li key={imei}>
            <strong>{names.get(imei) ?? imei}</strong>
            <Badge variant="default">{t(`sync.${state}`)}</Badge>
            {state === 'synced' ? null : <small>{t(`syncHint.${state}`)}</small>}
          </li>
        ))}
      </ul>
    </section>
  );
}
