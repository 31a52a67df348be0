import { Button, Group } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { RecordSelect } from '../../../common/places/record-select.tsx';
import type { Moves } from '../use-moves.ts';

interface AddVehiclesProps {
  readonly groupId: number;
  readonly vehicles: readonly Vehicle[];
  readonly all: readonly Vehicle[];
  readonly moves: Moves;
}

/** Adds vehicles to a group by their names. They stay in their other groups. */
export function AddVehicles({ groupId, vehicles, all, moves }: AddVehiclesProps) {
  const { t } = useTranslation('groups');
  const [ids, setIds] = useState<number[]>([]);
  const known = new Set(vehicles.map(({ id }) => id));
  const records = all
    .filter(({ id, access }) => access === 'owner' && !known.has(id))
    .map(({ id, vehicle_no: number, name }) => ({ id, label: name === number ? number : `${number} ${name}` }));
  if (records.length === 0) return null;
  return (
    <Group gap="sm" align="end">
      <div className="groups-grow">
        <RecordSelect label={t('addVehicles')} records={records} value={ids} onChange={setIds} />
      </div>
      <Button variant="default" disabled={ids.length === 0} onClick={() => moves.addTo(ids, groupId, () => setIds([]))}>
        {t('addToGroup')}
      </Button>
    </Group>
  );
}
